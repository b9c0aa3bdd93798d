"""`/usage`: usage statistics."""

from typing import Any, Literal

from fastapi import APIRouter

from onetool.domain.usage.summary import HOUR, PERIODS, summarize
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.fields import camel_keys
from onetool.interfaces.rest.schemas.usage import UsageResponse
from onetool.runtime.runtime import Runtime


def usage_routes(runtime: Runtime) -> APIRouter:
    """Create the usage routes."""
    routes = APIRouter(tags=["usage"])

    @routes.get("/usage", response_model=UsageResponse, responses=problem_responses(409))
    async def get_usage(period: Literal["day", "week", "month", "all"] = "all") -> Any:
        """Return the statistics of the last 24 hours, 7 days, 30 days, or of all time."""
        stats = runtime.state.configuration.settings.stats
        if not stats.enabled:
            raise ProblemError(409, "Statistics are disabled. Set stats.enabled: true in onetool.yaml.")
        summary = await runtime.recorder.summary(PERIODS[period])
        figures = summarize(summary, stats.round_trip_ms)
        tools = {name: camel_keys(tool) for name, tool in figures["tools"].items()}
        hours = [
            {"at": hour * HOUR, "calls": calls, "failed": failed}
            for hour, (calls, failed) in sorted(summary.total().hours.items())
        ]
        return json_response(
            runtime.state.redactor.mask(camel_keys(figures) | {"tools": tools, "hours": hours})
        )

    return routes
