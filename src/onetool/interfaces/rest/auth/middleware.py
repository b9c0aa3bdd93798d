"""Middleware that checks Host, Origin, size and credentials of every request."""

import logging
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetool.interfaces.rest.problems import problem

from .credentials import Credentials

log = logging.getLogger(__name__)

PUBLIC_PATHS = frozenset({"/healthz", "/readyz", "/login", "/logout"})
"""Paths that need no token: they reveal only the status, or check the token themselves."""
SAFE_METHODS = frozenset({"GET", "HEAD"})
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MAX_BYTES = 64 * 2**20
Rejection = tuple[int, str]
"""Status and detail."""


class GuardMiddleware:
    """Rejects requests with a wrong Host or Origin, a large body, or without token or cookie."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        hosts: Sequence[str],
        is_public: Callable[[Scope], bool] = lambda scope: False,
    ) -> None:
        self._app, self._credentials, self._is_public = app, Credentials(token), is_public
        self._hosts = frozenset(host.lower() for host in (*LOOPBACK, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or reject a request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # only HTTP is supported
            return
        headers = Headers(scope=scope)
        rejection = self._check_request(headers) or self._check_credentials(scope, headers)
        if rejection is None:
            await self._forward(scope, receive, send)
        else:
            status, detail = rejection
            challenge = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await problem(status, detail, headers=challenge)(scope, receive, send)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app and log its exceptions with secrets masked."""
        body = _CountedBody(receive)
        try:
            await self._app(scope, body, _GuardedSend(scope, body, send))
        except Exception:  # the root of a request; uvicorn would log it unmasked
            log.exception("%s %s failed", scope["method"], scope["path"])

    def _check_request(self, headers: Headers) -> Rejection | None:
        """Check Host, Origin and Content-Length."""
        host = headers.get("host", "")
        if _host_name(host) not in self._hosts:
            return (
                403,
                f"Host {host[:100]!r} is not allowed. Allow it with: onetool serve --allow-host NAME",
            )
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host.lower():
            return 403, f"Origin {origin[:100]!r} is not allowed."
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BYTES:
            return 413, _too_large()
        return None

    def _check_credentials(self, scope: Scope, headers: Headers) -> Rejection | None:
        """Check the token or the cookie."""
        if scope["path"] in PUBLIC_PATHS or self._credentials.has_token(headers) or self._is_public(scope):
            return None
        if self._credentials.has_cookie(headers):
            return _check_cross_origin(scope["method"], headers)
        return (
            401,
            "Missing or wrong token. Send Authorization: Bearer <token>. `onetool serve` prints where it is.",
        )


def _check_cross_origin(method: str, headers: Headers) -> Rejection | None:
    """Reject requests of other pages, with which a browser also sends the cookie.

    `SameSite` does not stop pages on other ports of this machine: to a browser they are the same site.
    """
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "Only pages of this server may use its cookie."
    is_own_page = headers.get("x-onetool") == "1" and headers.get("origin") is not None
    if method in SAFE_METHODS or is_own_page:
        return None
    return 403, "Requests with the cookie require the headers Origin and X-OneTool: 1."


class _CountedBody:
    """Counts the bytes of a request body while it arrives, for bodies without Content-Length."""

    def __init__(self, receive: Receive) -> None:
        self.receive, self._size = receive, 0
        self.is_too_large = False

    async def __call__(self) -> Message:
        message = await self.receive()
        self._size += len(message.get("body", b""))
        if self._size > MAX_BYTES:
            self.is_too_large = True
            return {"type": "http.disconnect"}
        return message


class _GuardedSend:
    """Sends the response of the app, or 413 if the body was too large."""

    def __init__(self, scope: Scope, body: _CountedBody, send: Send) -> None:
        self._scope, self._body, self._send = scope, body, send

    async def __call__(self, message: Message) -> None:
        if not self._body.is_too_large:
            await self._send(_add_security_headers(message))
        elif message["type"] == "http.response.start":
            await problem(413, _too_large())(self._scope, self._body.receive, self._send)


def _add_security_headers(message: Message) -> Message:
    """Prevent browsers from rendering results as pages, and browsers and proxies from caching them."""
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        headers["x-content-type-options"] = "nosniff"
        headers.setdefault("cache-control", "no-store")
    return message


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # incomplete IPv6 address
        return ""


def _too_large() -> str:
    return f"The body is larger than {MAX_BYTES} bytes."


def _host_name(host: str) -> str:
    """Return a Host header without the port."""
    name = host.lower()
    return name if name.endswith("]") else name.rpartition(":")[0] or name
