"""Schemas of the audit routes."""

from typing import Any

from pydantic import Field

from .fields import ResponseModel, Seconds


class AuditRecord(ResponseModel):
    """A change of the workspace."""

    id: str
    at: Seconds
    actor: str = Field(description="The principal who made the change, or `operator`.")
    interface: str = Field(description="`rest`, `mcp`, `job`, `cli`, or `process` without a request.")
    action: str = Field(description="What was done.", examples=["bundle.create"])
    target: str = Field(description="To which id or name. A tool is `BUNDLE/SLUG/VERSION`.")
    detail: dict[str, Any] = Field(description="More about the change, without values of secrets.")


class AuditPage(ResponseModel):
    """A page of changes, newest first."""

    entries: list[AuditRecord]
    next: str | None = Field(description="Cursor of the next page. Null: this is the last one.")
