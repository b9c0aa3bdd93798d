"""Schemas of the server routes."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from onetool.domain.bundles.schemas import StrictModel

from .fields import Name, ResponseModel


class ServerResponse(ResponseModel):
    """An MCP server."""

    name: str = Field(examples=["github"])
    state: Literal["configured", "idle", "starting", "connected", "failed", "disabled"]
    reason: str = Field(
        description="Reason of a failure, or what is wrong with the settings of its tools; otherwise empty."
    )
    tools: int | None = Field(description="Number of tools; null if the server was never started.")
    quarantined: int = Field(description="Number of quarantined tools, prompts, templates and others.")
    sandbox: str = Field(description="Restrictions of the command; empty for a server with a URL.")
    endpoint: str = Field(description="URL of the server, or the command that starts it.")
    canLogIn: bool = Field(description="Whether the user can log in to the server with a browser.")


class InstructionsResponse(ResponseModel):
    """The instructions of a server."""

    text: str = Field(description="The instructions in use; empty if there are none.")
    reason: str = Field(description="Why other instructions are quarantined; empty if they are not.")
    difference: str = Field(description="Changes from those in use to the quarantined ones.")
    pin: str = Field(description="Hash of the last received instructions.")


class ServerDetails(ServerResponse):
    """An MCP server and its instructions."""

    instructions: InstructionsResponse


class ApproveInstructionsBody(StrictModel):
    """The instructions to approve."""

    pin: str = Field(max_length=100, description="Hash of the reviewed instructions.")


class ServerList(ResponseModel):
    """All configured servers."""

    servers: list[ServerResponse]
    canEdit: bool = Field(description="Whether servers can be added, changed and removed here.")


class StartStepResponse(ResponseModel):
    """A step of a server's start that succeeded."""

    name: str = Field(examples=["handshake"])
    detail: str
    seconds: float = Field(description="Time since the start began.")


class ProbeResponse(ResponseModel):
    """The result of a connection test."""

    ok: bool
    state: Literal["configured", "idle", "starting", "connected", "failed"]
    steps: list[StartStepResponse]
    reason: str
    tools: int | None = Field(description="Number of tools; null if the test failed, as for the others.")
    resources: int | None
    templates: int | None
    prompts: int | None
    seconds: float


class QuarantinedToolResponse(ResponseModel):
    """A tool, or another definition, that is disabled until the user approves it."""

    name: str = Field(description="Name of a tool, or a label such as `prompt greet`.")
    kind: str = Field(examples=["tool", "resource", "template", "prompt", "prompt text"])
    reason: str
    difference: str = Field(description="Change of the definition as a unified diff.")
    pin: str = Field(description="Hash of this definition, for `seen` of `approve`.")


class QuarantineResponse(ResponseModel):
    """The quarantined tools and other definitions of a server."""

    tools: list[QuarantinedToolResponse]


class ToolAccessResponse(ResponseModel):
    """How a tool of a server is treated."""

    name: str = Field(description="Name on the server.")
    function: str = Field(description="Name of its function in the pack of the server.")
    problem: str = Field(description="Why its settings disable it; otherwise empty.")
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
