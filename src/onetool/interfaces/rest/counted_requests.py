"""Counting of the requests of a hosted OneTool."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetool.telemetry.request_meter import Interface, LoginMethod, RequestMeter

from .current_workspace import PREFIX, split_path
from .hosted import LIVE_PATH, READY_PATH
from .hosted_login import LOGIN_PATH
from .people_login import CALLBACK_PATH
from .route_rights import is_mcp


class CountedRequests:
    """Passes requests on to an app and counts them."""

    def __init__(self, app: ASGIApp, meter: RequestMeter) -> None:
        self._app, self._meter = app, meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        interface, is_counted = _interface(scope["path"]), False

        def count(status: int) -> None:
            nonlocal is_counted
            if not is_counted:
                self._meter.count(interface, status, _login_method(scope["method"], scope["path"]))
            is_counted = True

        async def counted_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                count(message["status"])
            await send(message)

        with self._meter.running(interface):
            try:
                await self._app(scope, receive, counted_send)
            except Exception:
                count(500)  # uvicorn responds with it
                raise


def _interface(path: str) -> Interface:
    if path.startswith(PREFIX):
        return "mcp" if is_mcp(split_path(path)[1]) else "rest"
    return "health" if path in (LIVE_PATH, READY_PATH) else "other"


def _login_method(method: str, path: str) -> LoginMethod | None:
    if method == "GET" and path == CALLBACK_PATH:
        return "oidc"
    return "key" if method == "POST" and split_path(path)[1] == LOGIN_PATH else None
