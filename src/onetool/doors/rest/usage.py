"""`/usage`: how often tools were called, how well that went, and what it has saved."""

from typing import Any, Literal

from fastapi import APIRouter

from onetool.domain.usage import HOUR, PERIODS, sum_up
from onetool.runtime import Runtime

from .problems import Failed, documented
from .queries import reply
from .screen_shapes import UsageAnswer, camel


def usage_routes(runtime: Runtime) -> APIRouter:
    """Make the routes of statistics."""
    routes = APIRouter(tags=["usage"])

    @routes.get("/usage", response_model=UsageAnswer, responses=documented(409))
    async def usage(period: Literal["day", "week", "month", "all"] = "all") -> Any:
        """Show the statistics of the last 24 hours, 7 days, 30 days, or of all time."""
        stats = runtime.configuration.settings.stats
        if not stats.enabled:
            raise Failed(409, "Statistics are disabled. Set stats.enabled: true in onetool.yaml.")
        tally = await runtime.usage(PERIODS[period])
        figures = sum_up(tally, stats.round_trip_ms)
        tools = {name: camel(one) for name, one in figures["tools"].items()}
        hours = [
            {"at": hour * HOUR, "calls": calls, "failed": failed}
            for hour, (calls, failed) in sorted(tally.total().hours.items())
        ]
        return reply(runtime.masked(camel(figures) | {"tools": tools, "hours": hours}))

    return routes
