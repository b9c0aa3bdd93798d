"""Middleware that checks Host, Origin, size and credentials of every request."""

import logging
import re
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetool.domain.identity.principal import acting_as, current_principal
from onetool.interfaces.rest.problems import problem

from .credentials import Credentials
from .wrong_tokens import WrongTokens

log = logging.getLogger(__name__)

PUBLIC_PATHS = frozenset({"/healthz", "/readyz", "/login", "/logout"})
"""Paths that need no token: they reveal only the status, or check the token themselves."""
SAFE_METHODS = frozenset({"GET", "HEAD"})
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MAX_BYTES, MAX_LOGIN_BYTES, MAX_OAUTH_BYTES = 64 * 2**20, 4 * 2**10, 16 * 2**10
"""Maximum size of a body. At the last paths below, clients without a token can send one."""
LOGIN_PATH, INVITATION_PATH = "/login", "/invitation"
OAUTH_PATH = re.compile(r"/oauth/[a-z]+$")
AUTHENTICATED = "authenticated"
"""Key in the state of a request that has the token or the cookie."""
PROFILE = "profile"
"""Key in the state of a request, for the profile whose token it has; empty if it has none."""
PROFILE_PATHS = re.compile(r"/tools/call|/run|/results/[^/]+|/jobs/[^/]+(/answers|/cancel)?")
"""Paths for clients with the token of a profile. Of jobs and results, they reach those of the profile."""
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
        wrong_tokens: WrongTokens | None = None,
        is_public: Callable[[Scope], bool] = lambda scope: False,
    ) -> None:
        self._wrong_tokens = wrong_tokens or WrongTokens()
        self._app, self._credentials, self._is_public = app, Credentials(token), is_public
        self._hosts = frozenset(host.lower() for host in (*LOOPBACK, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or reject a request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})  # only HTTP is supported
            return
        headers, body = Headers(scope=scope), _CountedBody(receive, _max_bytes(scope))
        rejection = _check_path(scope["path"]) or self._check_request(headers, body)
        rejection = rejection or await self._authenticate(scope, headers)
        if self._is_wrong(scope, headers, rejection):
            await self._wrong_tokens.delay(scope, body)
        if rejection is None:
            await self._forward(scope, body, send)
        else:
            status, detail = rejection
            added = {"Retry-After": "1"} if status == 503 else {}
            if status == 401:
                added = {"WWW-Authenticate": self._challenge(scope)}
            await problem(status, detail, headers=added)(scope, receive, send)

    def _challenge(self, scope: Scope) -> str:
        """Return what a request without valid credentials is told to send."""
        return "Bearer"

    async def _forward(self, scope: Scope, body: "_CountedBody", send: Send) -> None:
        """Run the app and log its exceptions with secrets masked."""
        principal = current_principal().with_profile(scope["state"][PROFILE])
        try:
            with acting_as(principal):
                await self._app(scope, body, _GuardedSend(scope, body, send))
        except ClientDisconnect:  # also when the body is too large
            log.debug("%s %s ended before its body", scope["method"], scope["path"])
        except Exception:  # the root of a request; uvicorn would log it unmasked
            log.exception("%s %s failed", scope["method"], scope["path"])

    def _is_wrong(self, scope: Scope, headers: Headers, rejection: Rejection | None) -> bool:
        """Return whether the response tells a client that the credentials it sent are wrong."""
        if not self._has_credentials(headers):
            return False
        if rejection is not None:
            return rejection[0] == 401
        is_status = scope["path"] == LOGIN_PATH and scope["method"] in SAFE_METHODS
        return is_status and not self._is_public(scope) and not self._credentials.is_valid(headers)

    def _has_credentials(self, headers: Headers) -> bool:
        """Return whether a request has any credentials, correct or not."""
        return self._credentials.is_given(headers)

    def _check_request(self, headers: Headers, body: "_CountedBody") -> Rejection | None:
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
        if not length.isdigit() or int(length) > body.max_bytes:
            return 413, body.too_large()
        return None

    async def _authenticate(self, scope: Scope, headers: Headers) -> Rejection | None:
        """Note in the state of a request who sent it, or reject it."""
        return self._check_credentials(scope, headers)

    def _check_credentials(self, scope: Scope, headers: Headers) -> Rejection | None:
        """Check the token or the cookie."""
        has_token = self._credentials.has_token(headers)
        has_cookie = not has_token and self._credentials.has_cookie(headers)
        state = scope.setdefault("state", {})
        state[AUTHENTICATED] = has_token or has_cookie
        state[PROFILE] = profile = "" if has_token else self._credentials.profile(headers)
        if scope["path"] in PUBLIC_PATHS or has_token or self._is_public(scope):
            return None
        if profile:
            return _check_profile(profile, scope["path"])
        if has_cookie:
            return check_cross_origin(scope["method"], headers)
        return (
            401,
            "Missing or wrong token. Send Authorization: Bearer <token>. `onetool serve` prints where it is.",
        )


def _check_path(path: str) -> Rejection | None:
    """Reject control characters, with which a path could match one rule and not another."""
    has_control = any(char < " " or char == "\x7f" for char in path)
    return (400, "The path contains a control character.") if has_control else None


def _check_profile(profile: str, path: str) -> Rejection | None:
    """Reject everything but calls: the rest would show or change more than the profile allows."""
    if path == f"/mcp/p/{profile}" or PROFILE_PATHS.fullmatch(path):
        return None
    return 403, f"The token of profile {profile!r} is only for calls: /mcp/p/{profile}, /tools/call and /run."


def check_cross_origin(method: str, headers: Headers) -> Rejection | None:
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

    def __init__(self, receive: Receive, max_bytes: int) -> None:
        self.receive, self.max_bytes, self._size = receive, max_bytes, 0
        self.is_too_large = False

    def too_large(self) -> str:
        """Return the message for a body that is too large."""
        return f"The body is larger than {self.max_bytes} bytes."

    async def __call__(self) -> Message:
        message = await self.receive()
        self._size += len(message.get("body", b""))
        if self._size > self.max_bytes:
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
            await problem(413, self._body.too_large())(self._scope, self._body.receive, self._send)


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


def _max_bytes(scope: Scope) -> int:
    if scope["path"].endswith((LOGIN_PATH, INVITATION_PATH)):
        return MAX_LOGIN_BYTES
    return MAX_OAUTH_BYTES if OAUTH_PATH.search(scope["path"]) else MAX_BYTES


def _host_name(host: str) -> str:
    """Return a Host header without the port, which consists of digits."""
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isascii() and port.isdigit() else host.lower()
