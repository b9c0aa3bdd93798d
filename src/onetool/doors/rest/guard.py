"""Who may talk to the REST door: whoever has the token, from no foreign page, in requests of a sane size."""

import logging
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .credentials import Credentials
from .problems import problem

log = logging.getLogger(__name__)

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/login", "/logout"})
"""Answered without a token: they tell nothing but that we live, or ask for the token themselves."""
ONLY_READS = frozenset({"GET", "HEAD"})
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MOST_BYTES = 64 * 2**20
Refusal = tuple[int, str]
"""Status and words."""


class Guard:
    """Checks Host, Origin, size and token or cookie before anything else sees a request."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        hosts: Sequence[str],
        is_open: Callable[[Scope], bool] = lambda scope: False,
    ) -> None:
        self._app, self._known, self._is_open = app, Credentials(token), is_open
        self._hosts = frozenset(host.lower() for host in (*LOOPBACK, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # nothing here speaks anything else
            return
        headers = Headers(scope=scope)
        refusal = self._foreign(headers) or self._unknown(scope, headers)
        if refusal is None:
            await self._answer(scope, receive, send)
        else:
            status, detail = refusal
            more = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await problem(status, detail, headers=more)(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on; what the app could not answer is told in our log, where secrets are masked."""
        body = _Counted(receive)
        try:
            await self._app(scope, body, _Answer(scope, body, send))
        except Exception:  # the root of a request: the server underneath would write it down as it is
            log.exception("%s %s failed", scope["method"], scope["path"])

    def _foreign(self, headers: Headers) -> Refusal | None:
        """Whether a request is not meant for this server, comes from elsewhere or is too large."""
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            return (
                403,
                f"Host {host[:100]!r} is not served here. Allow it with: onetool serve --allow-host NAME",
            )
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host.lower():
            return 403, f"Pages from {origin[:100]!r} may not call this server."
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return 413, _too_large()
        return None

    def _unknown(self, scope: Scope, headers: Headers) -> Refusal | None:
        """Whether nobody knows who sends this."""
        if scope["path"] in OPEN_PATHS or self._known.has_token(headers) or self._is_open(scope):
            return None
        if self._known.has_cookie(headers):
            return _by_another_page(scope["method"], headers)
        return (
            401,
            "A token is needed: Authorization: Bearer <token>. `onetool serve` says where it is kept.",
        )


def _by_another_page(method: str, headers: Headers) -> Refusal | None:
    """A browser sends the cookie along whoever asks: only our own pages can say so, and where they are from.

    Pages of other ports of this machine are the same site to a browser.
    """
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "Only pages of this server may use its cookie."
    is_ours = headers.get("x-onetool") == "1" and headers.get("origin") is not None
    if method in ONLY_READS or is_ours:
        return None
    return 403, "With the cookie, this needs the headers Origin and X-OneTool: 1."


class _Counted:
    """A body without a length, counted while it arrives."""

    def __init__(self, receive: Receive) -> None:
        self.receive, self._seen = receive, 0
        self.is_over = False

    async def __call__(self) -> Message:
        message = await self.receive()
        self._seen += len(message.get("body", b""))
        if self._seen > MOST_BYTES:
            self.is_over = True
            return {"type": "http.disconnect"}
        return message


class _Answer:
    """What the app answers, unless it was given only a part of the body."""

    def __init__(self, scope: Scope, body: _Counted, send: Send) -> None:
        self._scope, self._body, self._send = scope, body, send

    async def __call__(self, message: Message) -> None:
        if not self._body.is_over:
            await self._send(_unsniffed(message))
        elif message["type"] == "http.response.start":
            await problem(413, _too_large())(self._scope, self._body.receive, self._send)


def _unsniffed(message: Message) -> Message:
    """What a tool or a person wrote is never taken for a page, nor kept by a browser or a proxy."""
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        headers["x-content-type-options"] = "nosniff"
        headers.setdefault("cache-control", "no-store")
    return message


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # half of an IPv6 address
        return ""


def _too_large() -> str:
    return f"The body is larger than {MOST_BYTES} bytes."


def _name(host: str) -> str:
    """A Host header without its port."""
    name = host.lower()
    return name if name.endswith("]") else name.rpartition(":")[0] or name
