"""Schemas of the statistics routes."""

from pydantic import Field

from .fields import ResponseModel, Seconds


class ToolUsageResponse(ResponseModel):
    """The calls of one tool."""

    calls: int
    successRate: float
    meanMs: float
    maxMs: float


class HourUsage(ResponseModel):
    """The calls of one hour."""

    at: Seconds
    calls: int
    failed: int


class UsageResponse(ResponseModel):
    """Calls, success rates and savings of all tools."""

    totalCalls: int
    successRate: float = Field(description="Percentage of successful calls.")
    contextSaved: int = Field(description="Estimated number of saved tokens.")
    timeSavedMs: int
    tools: dict[str, ToolUsageResponse]
    hours: list[HourUsage]
