"""`/healthz`, `/readyz`, `/health`, `/metrics`: how the server is, for whoever watches over it."""

import asyncio
import time
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from onetool.domain.json_text import jsonable
from onetool.domain.usage import Tally
from onetool.runtime import Runtime

from .problems import documented
from .queries import reply
from .screen_shapes import HealthAnswer, camel

OPEN: dict[str, Any] = {"security": []}
"""No token is needed."""
KNOWN_FOR = 5.0
"""Seconds for which an answer to `readyz` holds."""
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def system_routes(runtime: Runtime) -> APIRouter:
    """Make the routes for whoever watches."""
    routes = APIRouter(tags=["system"])
    known = _Known()
    refused: dict[int | str, dict[str, Any]] = {403: documented()[403], 413: documented()[413]}

    @routes.get("/healthz", responses=refused, openapi_extra=OPEN)
    async def is_alive() -> dict[str, str]:
        """Answer as long as the process lives; no token is needed."""
        return {"status": "ok"}

    @routes.get(
        "/readyz",
        responses={**refused, 503: {"description": "Something does not work"}},
        openapi_extra=OPEN,
    )
    async def is_ready() -> Response:
        """Tell whether everything works; no token is needed."""
        async with known.asking:  # anybody may ask, and asking probes every server
            if time.monotonic() - known.at > KNOWN_FOR:
                health = await runtime.health()
                known.is_broken = bool(health.failures) or not all(health.servers.values())
                known.at = time.monotonic()
        return reply({"status": "degraded" if known.is_broken else "ok"}, 503 if known.is_broken else 200)

    @routes.get("/health", response_model=HealthAnswer, responses=documented())
    async def health() -> Any:
        """Tell how every part is, what is wrong, and what would mend it; other servers are asked too."""
        found = await runtime.health()
        problems = [problem._asdict() for problem in found.problems()]
        return reply(runtime.masked(camel(jsonable(found)) | {"problems": problems}))

    @routes.get(
        "/metrics",
        response_class=PlainTextResponse,
        responses={key: value for key, value in documented().items() if key != 400},
    )
    async def metrics() -> str:
        """Tell figures in Prometheus' format."""
        lines = _lines(await runtime.usage())
        lines += _gauge("onetool_tools", "Tools that can be found.", await runtime.catalog.count_local())
        lines += _gauge(
            "onetool_abandoned_threads", "Tools given up that still run.", runtime.threads.abandoned
        )
        return "\n".join(lines) + "\n"

    return routes


class _Known:
    """What was found when somebody last asked."""

    def __init__(self) -> None:
        self.at, self.is_broken, self.asking = -1e9, False, asyncio.Lock()


def _lines(tally: Tally) -> list[str]:
    lines = ["# HELP onetool_calls_total Calls of tools.", "# TYPE onetool_calls_total counter"]
    for name, one in tally.tools.items():
        tool = name.translate(ESCAPES)
        lines.append(f'onetool_calls_total{{tool="{tool}",ok="true"}} {one.calls - one.failed}')
        lines.append(f'onetool_calls_total{{tool="{tool}",ok="false"}} {one.failed}')
    lines += ["# HELP onetool_call_seconds_total Time spent.", "# TYPE onetool_call_seconds_total counter"]
    for name, one in tally.tools.items():
        lines.append(
            f'onetool_call_seconds_total{{tool="{name.translate(ESCAPES)}"}} {one.total_ms / 1000:.6f}'
        )
    return lines


def _gauge(name: str, text: str, value: int) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} gauge", f"{name} {value}"]
