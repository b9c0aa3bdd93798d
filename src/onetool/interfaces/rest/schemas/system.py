"""Schemas of the health routes."""

from pydantic import Field

from .fields import ResponseModel


class HealthProblemResponse(ResponseModel):
    """A problem and its fix."""

    what: str
    fix: str


class HealthResponse(ResponseModel):
    """The health of all components."""

    version: str
    python: str
    cwd: str
    toolCount: int
    failures: dict[str, str] = Field(description="Sources that failed, with the reason.")
    skipped: dict[str, str] = Field(description="Pack files that were not loaded, with the reason.")
    servers: dict[str, bool] = Field(description="MCP servers, and whether they respond.")
    untrustedFiles: list[str] = Field(description="Project files that are ignored until `onetool trust`.")
    abandoned: int = Field(description="Threads of timed-out tools that are still running.")
    problems: list[HealthProblemResponse]
