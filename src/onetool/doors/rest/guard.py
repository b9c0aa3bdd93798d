"""Who may talk to the REST door: whoever has the token, from no foreign page, in requests of a sane size."""

import hmac
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import problem

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Answered without a token: they tell nothing but that we live."""
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MOST_BYTES = 64 * 2**20


class Guard:
    """Checks Host, Origin, token and size before anything else sees a request."""

    def __init__(self, app: ASGIApp, *, token: str, hosts: Sequence[str]) -> None:
        if not token:
            raise ValueError("a server needs a token")
        self._app, self._token = app, token.encode()
        self._hosts = frozenset(host.lower() for host in (*LOOPBACK, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # nothing here speaks anything else
            return
        refusal = self._refusal(scope["path"], Headers(scope=scope))
        if refusal is None:
            body = _Counted(receive)
            await self._app(scope, body, _Answer(scope, body, send))
        else:
            status, detail = refusal
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
            await problem(status, detail, headers=headers)(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            return (
                403,
                f"Host {host[:100]!r} is not served here. Allow it with: onetool serve --allow-host NAME",
            )
        origin = headers.get("origin")
        if origin is not None and _netloc(origin) != host.lower():
            return 403, f"Pages from {origin[:100]!r} may not call this server."
        if (
            not headers.get("content-length", "0").isdigit()
            or int(headers.get("content-length", "0")) > MOST_BYTES
        ):
            return 413, _too_large()
        if path not in OPEN_PATHS and not self._has_token(headers.get("authorization", "")):
            return (
                401,
                "A token is needed: Authorization: Bearer <token>. `onetool serve` says where it is kept.",
            )
        return None

    def _has_token(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        is_same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token)
        return scheme.lower() == "bearer" and is_same


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
            await self._send(message)
        elif message["type"] == "http.response.start":
            await problem(413, _too_large())(self._scope, self._body.receive, self._send)


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
