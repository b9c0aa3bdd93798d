"""The REST and MCP interfaces of a hosted OneTool: `/w/WORKSPACE/...`, with an API key."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from secrets import token_urlsafe
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.domain.identity.principal import Principal, acting_as
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.logs import redacting
from onetool.runtime.runtime import Runtime
from onetool.telemetry.spans import continue_trace
from onetool.threads import Threads

from .active_chats import ActiveChats
from .app import create_api, is_page_request
from .auth.credentials import bearer
from .auth.middleware import (
    AUTHENTICATED,
    PROFILE,
    SAFE_METHODS,
    GuardMiddleware,
    Rejection,
    check_cross_origin,
)
from .auth.wrong_tokens import WrongTokens
from .problems import ProblemError, problem
from .routes.login import parse_token, set_cookie

log = logging.getLogger(__name__)

PREFIX = "/w/"
LIVE_PATH, READY_PATH = "/healthz", "/readyz"
LOCAL_ONLY = frozenset({LIVE_PATH, READY_PATH})
"""Paths that exist only without a workspace."""
REGISTRY_PATH = "/registry/"
"""Servers are not installed here, and a workspace must not choose where this process sends requests."""
LOGIN_PATH, LOGOUT_PATH = "/login", "/logout"
COOKIE = "onetool-key"
"""Cookie of the web UI with the API key, which browsers send only to its workspace."""
PRINCIPAL = "principal"
"""Key in the state of a request, for the principal of its API key."""
READY_TTL_S = 1.0
NO_STORE = {"cache-control": "no-store"}
MCP_PATH = "/mcp"

Authenticate = Callable[[str, str], Awaitable[str | None]]
"""Returns the principal of an API key of a workspace; None if the key is not valid there."""
_runtime: ContextVar[Runtime] = ContextVar("runtime of the request")


class ServedWorkspace(Protocol):
    """An open workspace."""

    @property
    def runtime(self) -> Runtime:
        """Runs its calls."""
        ...

    @property
    def credentials(self) -> CredentialSet:
        """What is redacted in log records about it."""
        ...

    @property
    def mcp(self) -> ASGIApp:
        """The app for `/mcp` and the paths below it."""
        ...


class Workspaces(Protocol):
    """Opens workspaces."""

    def use(self, slug: str) -> AbstractAsyncContextManager[ServedWorkspace]:
        """Open a workspace for the block.

        Raises:
            LookupError: There is no such workspace.
        """
        ...


class HostedApp:
    """Serves all workspaces of a process. One set of routes serves the workspace of each request."""

    def __init__(
        self,
        workspaces: Workspaces,
        *,
        authenticate: Authenticate,
        check_ready: Callable[[], Awaitable[None]],
        threads: Threads,
        hosts: Sequence[str] = (),
        web_ui: ASGIApp | None = None,
    ) -> None:
        """check_ready: raises StoreUnavailable if the database cannot be used."""
        self._workspaces, self._readiness, self._web_ui = workspaces, _Readiness(check_ready), web_ui
        self._api = create_hosted_api(threads)
        wrong_tokens = WrongTokens()
        self._login = _Login(authenticate, wrong_tokens)
        self._guard = _HostedGuard(
            self._serve,
            authenticate=authenticate,
            hosts=hosts,
            wrong_tokens=wrong_tokens,
            is_public=lambda scope: self._is_login(scope) or self._is_page(scope),
        )

    def drain(self) -> None:
        """Report that the process is not ready any more, because it is about to end."""
        self._readiness.is_draining = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        path = scope.get("path", "")
        if scope["type"] == "http" and path == LIVE_PATH:
            await JSONResponse({"status": "ok"}, 200, NO_STORE)(scope, receive, send)
        elif scope["type"] == "http" and path == READY_PATH:
            status, code = await self._readiness.check()
            await JSONResponse({"status": status}, code, NO_STORE)(scope, receive, send)
        elif scope["type"] == "http" and self._web_ui is not None and _is_asset(path):
            await self._web_ui(scope, receive, send)
        else:
            await self._guard(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request with a valid key, or one that needs none."""
        slug, path = split_path(scope["path"])
        if self._is_login(scope):
            await self._login(scope, receive, send)
            return
        if self._web_ui is not None and self._is_page(scope):
            await self._web_ui({**scope, "path": "/"}, receive, send)
            return
        try:
            async with self._workspaces.use(slug) as workspace:
                principal = Principal(scope["state"][PRINCIPAL])
                with (
                    continue_trace(Headers(scope=scope)),
                    acting_as(principal),
                    redacting(workspace.credentials),
                    _serving(workspace.runtime),
                ):
                    app = self._app(workspace, path)
                    await app(_inside(scope, path), receive, _with_workspace(send, slug))
        except LookupError:
            await _not_found(scope["path"])(scope, receive, send)
        except StoreUnavailable as error:
            headers = {"Retry-After": "5"}
            await problem(503, f"The workspace cannot be opened: {error}", headers=headers)(
                scope, receive, send
            )
        except SettingsError as error:
            await problem(500, f"The settings of the workspace are invalid: {error}")(scope, receive, send)

    def _is_login(self, scope: Scope) -> bool:
        return split_path(scope["path"])[1] in (LOGIN_PATH, LOGOUT_PATH)

    def _is_page(self, scope: Scope) -> bool:
        """Return whether a request is for a page of the web UI. Pages contain no data."""
        slug, path = split_path(scope["path"])
        if self._web_ui is None or not slug or _is_mcp(path):
            return False
        return is_page_request({**scope, "path": path, "root_path": ""}, self._api, {})

    def _app(self, workspace: ServedWorkspace, path: str) -> ASGIApp:
        if path in LOCAL_ONLY or path.startswith(REGISTRY_PATH):
            return _not_found(path)
        return workspace.mcp if _is_mcp(path) else self._api


def create_hosted_api(threads: Threads) -> FastAPI:
    """Create routes that serve the workspace of the current request."""
    runtime = cast(Runtime, _CurrentRuntime(threads))
    return create_api(runtime, chats=cast(ActiveChats, _CurrentChats()))


def split_path(path: str) -> tuple[str, str]:
    """Return the workspace of a path and the path in it; two empty texts if it names no workspace."""
    if not path.startswith(PREFIX):
        return "", ""
    slug, slash, rest = path.removeprefix(PREFIX).partition("/")
    return (slug, slash + rest) if slash else (slug, "/")


class _HostedGuard(GuardMiddleware):
    """Rejects requests without a valid key of their workspace. Whether a workspace exists is not revealed."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticate: Authenticate,
        hosts: Sequence[str],
        wrong_tokens: WrongTokens,
        is_public: Callable[[Scope], bool],
    ) -> None:
        no_token = token_urlsafe()  # no request can have it
        super().__init__(app, token=no_token, hosts=hosts, wrong_tokens=wrong_tokens, is_public=is_public)
        self._find_principal = authenticate

    async def _authenticate(self, scope: Scope, headers: Headers) -> Rejection | None:
        slug, _ = split_path(scope["path"])
        if not slug:
            return 404, "Not found. Workspaces are at /w/NAME/."
        state = scope.setdefault("state", {})
        state[AUTHENTICATED], state[PROFILE] = False, ""
        if self._is_public(scope):
            return None
        try:
            principal = await self._find_principal(slug, _key_of(headers))
        except StoreUnavailable:
            return 503, "The key cannot be checked: the database is not available. Try again."
        if principal is None:
            message = f"Send Authorization: Bearer <key>, with a key of {slug[:64]!r}."
            return 401, f"Missing or wrong API key. {message}"
        if not bearer(headers) and (rejection := check_cross_origin(scope["method"], headers)):
            return rejection
        state[AUTHENTICATED], state[PRINCIPAL] = True, principal
        return None


class _Login:
    """Exchanges an API key for a cookie of its workspace."""

    def __init__(self, authenticate: Authenticate, wrong_tokens: WrongTokens) -> None:
        self._authenticate, self._wrong_tokens = authenticate, wrong_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request for `/login` or `/logout`."""
        request = Request(scope, receive)
        slug, path = split_path(scope["path"])
        try:
            response = await self._respond(request, slug, path)
        except ProblemError as error:
            response = problem(error.status, str(error))
        except StoreUnavailable:
            response = problem(503, "The key cannot be checked: the database is not available. Try again.")
        await response(scope, receive, send)

    async def _respond(self, request: Request, slug: str, path: str) -> Response:
        cookie_path = f"{PREFIX}{slug}"
        if path == LOGIN_PATH and request.method in SAFE_METHODS:
            principal = await self._authenticate(slug, _key_of(request.headers))
            return JSONResponse({"loggedIn": principal is not None}, headers=NO_STORE)
        if request.method != "POST":
            raise ProblemError(405, f"{request.method} is not allowed here.")
        response = Response(status_code=204)
        if path == LOGOUT_PATH:
            set_cookie(response, request, COOKIE, "", max_age=0, path=cookie_path)
            return response
        key = parse_token(await request.body()).strip()
        if await self._authenticate(slug, key) is None:
            await self._wrong_tokens.delay(request.scope, request.receive)
            raise ProblemError(401, "Wrong API key.")
        set_cookie(response, request, COOKIE, key, path=cookie_path)
        return response


class _Readiness:
    """Whether the process can serve requests, checked once in a while."""

    def __init__(self, check: Callable[[], Awaitable[None]]) -> None:
        self._check, self._checked_at, self._error = check, -READY_TTL_S, ""
        self.is_draining = False

    async def check(self) -> tuple[str, int]:
        """Return the status and its HTTP status code."""
        if self.is_draining:
            return "draining", 503
        if time.monotonic() - self._checked_at >= READY_TTL_S:
            try:
                await self._check()
                self._error = ""
            except StoreUnavailable as error:
                self._error = str(error)
                log.warning("not ready: %s", error)
            self._checked_at = time.monotonic()
        return ("unavailable", 503) if self._error else ("ok", 200)


class _CurrentRuntime:
    """The runtime of the workspace of the current request."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads

    def __getattr__(self, name: str) -> Any:
        return getattr(_runtime.get(), name)


class _CurrentChats:
    """The conversations in progress of the workspace of the current request."""

    def __init__(self) -> None:
        self._chats: WeakKeyDictionary[Runtime, ActiveChats] = WeakKeyDictionary()

    def __getattr__(self, name: str) -> Any:
        runtime = _runtime.get()
        if runtime not in self._chats:
            self._chats[runtime] = ActiveChats(runtime)
        return getattr(self._chats[runtime], name)


@contextmanager
def _serving(runtime: Runtime) -> Iterator[None]:
    token = _runtime.set(runtime)
    try:
        yield
    finally:
        _runtime.reset(token)


def _key_of(headers: Headers) -> str:
    """Return the API key in the header, or that in the cookie."""
    return bearer(headers).strip() or cookie_parser(headers.get("cookie", "")).get(COOKIE, "")


def _is_mcp(path: str) -> bool:
    return path == MCP_PATH or path.startswith(f"{MCP_PATH}/")


def _is_asset(path: str) -> bool:
    return path == "/favicon.svg" or path.startswith("/assets/")


def _inside(scope: Scope, path: str) -> Scope:
    """Return the scope of a request as the app of its workspace sees it."""
    return {**scope, "path": path, "raw_path": path.encode()}


def _with_workspace(send: Send, slug: str) -> Send:
    """Return a function that sends responses whose `Location` is in the workspace."""

    async def send_response(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            location = urlsplit(headers.get("location", ""))
            if location.path:
                headers["location"] = location._replace(path=f"{PREFIX}{slug}{location.path}").geturl()
        await send(message)

    return send_response


def _not_found(path: str) -> ASGIApp:
    return problem(404, f"Path {path[:200]} not found.")


class MountedWorkspace(NamedTuple):
    """An open workspace with its MCP app."""

    runtime: Runtime
    credentials: CredentialSet
    mcp: ASGIApp
