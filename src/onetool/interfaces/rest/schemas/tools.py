"""Schemas of the tool routes."""

from typing import Any

from pydantic import BaseModel, Field

from onetool.domain.bundles.bundle import StoredTool
from onetool.domain.bundles.schemas import CodeImpl, HttpImpl, PythonImpl, ToolLimits
from onetool.domain.usage.summary import CallCounter

from .fields import Flag, ResponseModel


class ToolResponse(ResponseModel):
    """A version of a tool."""

    id: str = Field(description="Same as `toolID`.")
    toolID: str = Field(examples=["0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c78"])
    bundleID: str = Field(examples=["0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"])
    bundleSlug: str
    slug: str
    version: str = Field(examples=["1.0.0"])
    name: str = Field(description="Name in code.", examples=["weather.get_rain"])
    type: str = Field(examples=["http"])
    displayName: str
    description: str
    tags: list[str]
    isEnabled: Flag
    isBuiltIn: bool
    disabledReason: str | None = Field(
        None, description="Why the tool is not available although it is stored as enabled."
    )
    hasApp: bool = Field(False, description="Whether an MCP server has an app that shows the results.")
    argSchema: dict[str, Any]
    outputSchema: dict[str, Any] | None = None
    pythonImpl: PythonImpl | None = Field(None, description="Of a tool of type `python`.")
    httpImpl: HttpImpl | None = Field(None, description="Of a tool of type `http`.")
    codeImpl: CodeImpl | None = Field(None, description="Of a tool of type `code`.")
    limits: ToolLimits | None = None
    callCount: int
    lastCalledAt: str | None = None
    createdAt: str
    modifiedAt: str


class ToolPage(BaseModel):
    """A page of tools."""

    toolListItems: list[ToolResponse]
    nextPageToken: str | None = None


def tool_json(
    stored: StoredTool, counter: CallCounter | None, disabled_reason: str, last_called: str | None
) -> dict[str, Any]:
    """Return the JSON of a tool for responses, with its usage and availability."""
    tool, bundle = stored.tool, stored.bundle
    data = tool.to_json() | {"toolID": tool.id, "name": stored.name, "bundleSlug": bundle.slug}
    data["callCount"] = counter.calls if counter else 0
    if stored.has_app:
        data["hasApp"] = True
    if last_called:
        data["lastCalledAt"] = last_called
    if disabled_reason:
        data |= {"isEnabled": False, "disabledReason": disabled_reason}
    return data
