"""Schemas of the server routes."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel

from .fields import Name, ResponseModel


class ServerResponse(ResponseModel):
    """An MCP server."""

    name: str = Field(examples=["github"])
    state: Literal["configured", "idle", "connected", "failed", "disabled"]
    reason: str = Field(description="Reason of a failure; otherwise empty.")
    tools: int | None = Field(description="Number of tools; null if the server was never started.")
    quarantined: int = Field(description="Number of quarantined tools.")
    endpoint: str = Field(description="URL of the server, or the command that starts it.")


class ServerList(ResponseModel):
    """All configured servers."""

    servers: list[ServerResponse]


class ProbeResponse(ResponseModel):
    """The result of a connection test."""

    ok: bool
    reason: str
    tools: int | None
    seconds: float


class QuarantinedToolResponse(ResponseModel):
    """A tool that is disabled until the user approves it."""

    name: str
    reason: str
    difference: str = Field(description="Change of the definition as a unified diff.")
    pin: str = Field(description="Hash of this definition, for `seen` of `approve`.")


class QuarantineResponse(ResponseModel):
    """The quarantined tools of a server."""

    tools: list[QuarantinedToolResponse]


class ToolAccessResponse(ResponseModel):
    """How a tool of a server is treated."""

    name: str
    readOnly: bool = Field(description="Whether the tool runs without approval.")
    reason: str
    canApprove: bool = Field(description="Whether the server declares it as read-only without approval.")
    definition: str = Field(description="What you approve: the definition as JSON, if `canApprove`.")
    pin: str = Field(description="Hash of this definition, for `seen` of `approve`.")


class ToolAccessList(ResponseModel):
    """The tools of a server's last listing."""

    tools: list[ToolAccessResponse]


class ApproveBody(StrictModel):
    """The tools to approve, by their names on the server. Default: all quarantined tools."""

    names: Annotated[list[Name], Field(max_length=10_000)] | None = None
    seen: dict[Name, str] | None = Field(
        None, description="Names and pins of the reviewed tools. Fails if a tool has changed since."
    )

    def pins(self, quarantined: Mapping[str, str]) -> Mapping[str, str]:
        """Return the tools to approve with their expected pins. An empty pin accepts any definition."""
        if self.seen is not None:
            return self.seen
        return quarantined if self.names is None else dict.fromkeys(self.names, "")


class LogLine(ResponseModel):
    """A log entry about a server."""

    at: str = Field(examples=["2026-01-31T12:00:00.000+00:00"])
    level: str = Field(examples=["warning"])
    message: str


class LogLines(ResponseModel):
    """The last log entries, oldest first."""

    lines: list[LogLine]
