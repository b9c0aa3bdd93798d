"""Schemas of the activity routes."""

from typing import Literal

from pydantic import Field

from onetool.domain.errors import ErrorCode, Reason

from .fields import ResponseModel, Seconds


class ActivityRecord(ResponseModel):
    """A finished call, or a run of code."""

    id: str
    parent: str = Field(description="Id of the call or run that made this one. Empty: an outermost one.")
    kind: Literal["call", "run"]
    tool: str
    version: str
    interface: str
    client: str = Field(description="Name of the MCP client, as it states it.")
    profile: str
    session: str
    source: str
    startedAt: Seconds
    endedAt: Seconds
    durationMs: float
    ok: bool
    code: ErrorCode | None
    reason: Reason | None
    decision: str = Field(description="Why it was allowed or denied, and whether a person approved it.")
    bytesIn: int
    bytesOut: int


class ActivityDetails(ActivityRecord):
    """A call with its arguments, its result and the calls that it made."""

    arguments: str = Field(description="As JSON, without secrets, shortened. Empty: not recorded.")
    result: str = Field(description="In the same form, or the message of the error.")
    calls: list["ActivityDetails"]


class ActivityPage(ResponseModel):
    """A page of calls, newest first."""

    records: list[ActivityRecord]
    next: str | None = Field(description="Cursor of the next page. The page may be empty nevertheless.")
    generation: str = Field(description="Changes when there may be new calls.")
