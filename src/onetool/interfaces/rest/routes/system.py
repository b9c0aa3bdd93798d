"""`/healthz`, `/readyz`, `/health` and `/metrics`: monitoring."""

import asyncio
import time
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import PlainTextResponse

from onetool.domain.text.json_text import jsonable
from onetool.domain.usage.summary import UsageSummary
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import problem_responses
from onetool.interfaces.rest.schemas.fields import camel_keys
from onetool.interfaces.rest.schemas.system import HealthResponse
from onetool.runtime.health import check_health
from onetool.runtime.runtime import Runtime

NO_TOKEN: dict[str, Any] = {"security": []}
"""OpenAPI extra for routes that need no token."""
READINESS_TTL_S = 5.0
"""Seconds for which the result of `/readyz` is cached."""
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def system_routes(runtime: Runtime) -> APIRouter:
    """Create the monitoring routes."""
    routes = APIRouter(tags=["system"])
    cache = _ReadinessCache()
    rejections: dict[int | str, dict[str, Any]] = {
        403: problem_responses()[403],
        413: problem_responses()[413],
    }

    @routes.get("/healthz", responses=rejections, openapi_extra=NO_TOKEN)
    async def check_liveness() -> dict[str, str]:
        """Return status 200 while the process is running. Needs no token."""
        return {"status": "ok"}

    @routes.get(
        "/readyz",
        responses={**rejections, 503: {"description": "A component is not healthy"}},
        openapi_extra=NO_TOKEN,
    )
    async def check_readiness() -> Response:
        """Return whether no source and no server has failed. Connects to none. Needs no token."""
        async with cache.lock:  # the route is public
            if time.monotonic() - cache.checked_at > READINESS_TTL_S:
                health = await check_health(runtime.state, runtime.threads, connect=False)
                states = {server.state for server in health.servers.values()}
                cache.is_degraded = bool(health.failures) or "failed" in states
                cache.checked_at = time.monotonic()
        return json_response(
            {"status": "degraded" if cache.is_degraded else "ok"}, 503 if cache.is_degraded else 200
        )

    @routes.get("/health", response_model=HealthResponse, responses=problem_responses())
    async def get_health(
        connect: Annotated[bool, Query(description="Connect to all servers first.")] = False,
    ) -> Any:
        """Return the health of all components, with problems and fixes."""
        health = await check_health(runtime.state, runtime.threads, connect=connect)
        servers = {name: camel_keys(server._asdict()) for name, server in health.servers.items()}
        problems = [problem._asdict() for problem in health.problems()]
        body = camel_keys(jsonable(health)) | {"servers": servers, "problems": problems}
        return json_response(runtime.state.redactor.mask(body))

    @routes.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses={key: value for key, value in problem_responses().items() if key != 400},
    )
    async def get_metrics() -> str:
        """Return metrics in the Prometheus text format."""
        lines = _call_metrics(await runtime.recorder.summary())
        lines += _gauge(
            "onetool_tools", "Local tools in the catalog.", await runtime.state.catalog.count_local()
        )
        lines += _gauge(
            "onetool_abandoned_threads",
            "Threads of timed-out tools that are still running.",
            runtime.threads.abandoned,
        )
        return "\n".join(lines) + "\n"

    return routes


class _ReadinessCache:
    """The result of the last readiness check."""

    def __init__(self) -> None:
        self.checked_at, self.is_degraded, self.lock = -1e9, False, asyncio.Lock()


def _call_metrics(summary: UsageSummary) -> list[str]:
    lines = ["# HELP onetool_calls_total Tool calls.", "# TYPE onetool_calls_total counter"]
    for name, usage in summary.tools.items():
        tool = name.translate(ESCAPES)
        lines.append(f'onetool_calls_total{{tool="{tool}",ok="true"}} {usage.calls - usage.failed}')
        lines.append(f'onetool_calls_total{{tool="{tool}",ok="false"}} {usage.failed}')
    lines += [
        "# HELP onetool_call_seconds_total Time spent in tool calls.",
        "# TYPE onetool_call_seconds_total counter",
    ]
    for name, usage in summary.tools.items():
        lines.append(
            f'onetool_call_seconds_total{{tool="{name.translate(ESCAPES)}"}} {usage.total_ms / 1000:.6f}'
        )
    return lines


def _gauge(name: str, description: str, value: int) -> list[str]:
    return [f"# HELP {name} {description}", f"# TYPE {name} gauge", f"{name} {value}"]
