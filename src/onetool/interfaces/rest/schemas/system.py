"""Schemas of the health routes."""

from typing import Literal

from pydantic import Field

from .fields import ResponseModel


class HealthProblemResponse(ResponseModel):
    """A problem and its fix."""

    what: str
    fix: str


class ServerHealthResponse(ResponseModel):
    """The state of an MCP server."""

    state: Literal["configured", "idle", "starting", "connected", "failed"]
    reason: str = Field(description="Why the server cannot be used; otherwise empty.")
    disabledTools: list[str] = Field(description="Tools that a mistake in their settings disables, and why.")
    warnings: list[str] = Field(
        description="Settings of tools that have no effect and parts of a listing that are ignored, and why."
    )


class HealthResponse(ResponseModel):
    """The health of all components."""

    version: str
    python: str
    cwd: str
    toolCount: int
    failures: dict[str, str] = Field(description="Sources that failed, with the reason.")
    skipped: dict[str, str] = Field(description="Pack files that were not loaded, with the reason.")
    servers: dict[str, ServerHealthResponse]
    untrustedFiles: list[str] = Field(description="Project files that are ignored until `onetool trust`.")
    abandoned: int = Field(description="Threads of timed-out tools that are still running.")
    unwritable: dict[str, str] = Field(
        description="Directories in which nothing can be stored, with the reason."
    )
    unavailableSecrets: dict[str, str] = Field(
        description="Secrets without a value because a command failed, with the reason."
    )
    settingsError: str = Field(
        description="Why the files of the settings cannot be loaded again; the earlier ones stay active."
    )
    blockedLoop: str = Field(
        description="What blocked the event loop within the last hour, and for how long; otherwise empty."
    )
    problems: list[HealthProblemResponse]
