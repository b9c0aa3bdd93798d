"""The ASGI app of the operator's listener: `GET /metrics`, and nothing else."""

from collections.abc import Callable

from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from .connections import ConnectionLimits

PATH = "/metrics"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LIMITS = ConnectionLimits(max_connections=32, max_per_address=16, write_timeout_s=10.0)


class MetricsApp:
    """Serves the metrics of a process. Checks no credentials: the operator chooses who reaches it."""

    def __init__(self, render: Callable[[], bytes]) -> None:
        """render: returns the metrics in the text format of Prometheus, without waiting."""
        self._render = render

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await self._respond(scope["method"], scope["path"])(scope, receive, send)

    def _respond(self, method: str, path: str) -> Response:
        if path != PATH:
            return PlainTextResponse(f"Not found. Metrics are at {PATH}.\n", 404)
        if method != "GET":
            return PlainTextResponse(f"{method[:20]} is not allowed here.\n", 405, {"allow": "GET"})
        return Response(self._render(), media_type=CONTENT_TYPE)
