"""The REST and MCP interfaces of a hosted OneTool: `/w/WORKSPACE/...`, with an API key or a session."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from functools import partial
from secrets import token_urlsafe
from typing import Protocol
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from onetool.domain.errors import SettingsError, StoreUnavailable, UnknownWorkspace
from onetool.domain.identity.principal import Principal, acting_as
from onetool.logs import redacting
from onetool.telemetry.spans import continue_trace
from onetool.threads import Threads

from .app import is_page_request
from .auth.credentials import bearer
from .auth.middleware import (
    AUTHENTICATED,
    INVITATION_PATH,
    PROFILE,
    GuardMiddleware,
    Rejection,
    check_cross_origin,
)
from .auth.wrong_tokens import WrongTokens
from .current_workspace import PREFIX, MountedWorkspace, create_hosted_api, serving, split_path
from .hosted_credentials import Authenticate, HostedCredentials, HostedPeople
from .hosted_login import LOGIN_PATH, LOGOUT_PATH, NO_STORE, HostedLogin
from .people_login import AUTH_PATH
from .problems import problem
from .request_rights import with_rights
from .resource_metadata import ResourceMetadata
from .route_rights import check_rights, is_mcp
from .stream_watch import serve_while_allowed

LIVE_PATH, READY_PATH = "/healthz", "/readyz"
LOCAL_PATHS = frozenset({LIVE_PATH, READY_PATH, "/settings"})
LOCAL_PREFIXES = ("/registry/", "/settings/", "/providers/")
"""Paths that exist only without a workspace. Settings are the operator's. Servers are not installed here, and
a workspace must not choose where this process sends requests."""
PRINCIPAL = "principal"
"""Key in the state of a request, for its principal."""
NOT_READY = ("draining", "unavailable")
SLUG = re.compile(r"[a-z0-9-]{1,63}")
MAX_REQUESTS = 1_000
"""Requests of one workspace in progress, with streams that are open. Others must find free connections."""
MIN_PRINCIPALS = 4
"""Principals that it takes to make all requests of a workspace: each may have a part of them in progress."""


class Workspaces(Protocol):
    """Opens workspaces."""

    def use(self, slug: str) -> AbstractAsyncContextManager[MountedWorkspace]:
        """Open a workspace for the block.

        Raises:
            UnknownWorkspace: There is no such workspace.
        """
        ...


class HostedApp:
    """Serves all workspaces of a process. One set of routes serves the workspace of each request."""

    def __init__(
        self,
        workspaces: Workspaces,
        *,
        authenticate: Authenticate,
        status: Callable[[], str],
        threads: Threads,
        hosts: Sequence[str] = (),
        web_ui: ASGIApp | None = None,
        max_requests: int = MAX_REQUESTS,
        people: HostedPeople | None = None,
    ) -> None:
        """Create the app.

        people: how people log in; None: they do not.
        status: "unavailable" if requests cannot be served, or another word.
        max_requests: how many requests of one workspace may be in progress.
        """
        self._max_requests, self._requests = max_requests, Counter[str | tuple[str, str]]()
        self._max_own = max(1, max_requests // MIN_PRINCIPALS)
        self._workspaces, self._status, self._web_ui = workspaces, status, web_ui
        self._is_draining = False
        self._api = create_hosted_api(threads)
        wrong_tokens = WrongTokens()
        self._people, self._credentials = people, HostedCredentials(authenticate, people)
        self._login = HostedLogin(authenticate, self._credentials, people, wrong_tokens)
        self._guard = _HostedGuard(
            self._serve,
            credentials=self._credentials,
            hosts=hosts,
            wrong_tokens=wrong_tokens,
            is_public=lambda scope: self._public_app(scope) is not None,
            metadata=people.metadata if people else None,
        )

    def drain(self) -> None:
        """Report that the process is not ready any more, because it is about to end."""
        self._is_draining = True

    def status(self) -> str:
        """Return whether requests can be served: "ok", "degraded", "unavailable" or "draining"."""
        return "draining" if self._is_draining else self._status()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        path = scope.get("path", "")
        if scope["type"] == "http" and path == LIVE_PATH:
            await JSONResponse({"status": "ok"}, 200, NO_STORE)(scope, receive, send)
        elif scope["type"] == "http" and path == READY_PATH:
            status = self.status()
            code = 503 if status in NOT_READY else 200
            await JSONResponse({"status": status}, code, NO_STORE)(scope, receive, send)
        elif scope["type"] == "http" and self._web_ui is not None and _is_asset(path):
            await self._web_ui(scope, receive, send)
        else:
            await self._guard(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request with valid credentials, or one that needs none."""
        slug, path = split_path(scope["path"])
        if (public_app := self._public_app(scope)) is not None:
            await public_app(scope, receive, send)
            return
        principal: Principal = scope["state"][PRINCIPAL]
        if (refusal := self._too_many(slug, principal)) is not None:
            await refusal(scope, receive, send)
            return
        async with AsyncExitStack() as stack:
            stack.enter_context(self._counted(slug))
            stack.enter_context(self._counted((slug, principal.id)))
            try:
                workspace = await stack.enter_async_context(self._workspaces.use(slug))
            except (UnknownWorkspace, StoreUnavailable, SettingsError) as error:
                await _cannot_open(scope["path"], error)(scope, receive, send)
                return
            stack.enter_context(continue_trace(Headers(scope=scope)))
            try:
                rights = await workspace.rights(principal.id)
            except StoreUnavailable as error:
                await _cannot_open(scope["path"], error)(scope, receive, send)
                return
            if (rejection := check_rights(scope["method"], path, principal, rights)) is not None:
                await problem(*rejection)(scope, receive, send)
                return
            stack.enter_context(acting_as(principal))
            stack.enter_context(with_rights(rights))
            stack.enter_context(redacting(workspace.credentials))
            stack.enter_context(serving(workspace))
            await serve_while_allowed(
                partial(self._is_allowed, scope, workspace),
                self._app(workspace, path),
                _inside(scope, path),
                receive,
                _with_workspace(send, slug),
            )

    async def _is_allowed(self, scope: Scope, workspace: MountedWorkspace) -> bool:
        """Return whether a request that was accepted would still be accepted."""
        slug, path = split_path(scope["path"])
        principal: Principal = scope["state"][PRINCIPAL]
        if await self._credentials.find(slug, path, Headers(scope=scope)) != principal:
            return False
        rights = await workspace.rights(principal.id)
        return check_rights(scope["method"], path, principal, rights) is None

    def _too_many(self, slug: str, principal: Principal) -> ASGIApp | None:
        """Return the refusal of a request if too many are in progress; None if there are not."""
        if self._requests[slug] >= self._max_requests:
            return _too_many(self._max_requests, "the workspace")
        if self._requests[slug, principal.id] >= self._max_own:
            return _too_many(self._max_own, repr(principal.id))
        return None

    @contextmanager
    def _counted(self, of: str | tuple[str, str]) -> Iterator[None]:
        """Count a request of a workspace, or of a principal in it, while it is in progress."""
        self._requests[of] += 1
        try:
            yield
        finally:
            self._requests[of] -= 1
            if not self._requests[of]:
                del self._requests[of]

    def _public_app(self, scope: Scope) -> ASGIApp | None:
        """Return what serves a request that needs no credentials, or checks them itself."""
        _, path = split_path(scope["path"])
        if self._people is not None and scope["path"].startswith(AUTH_PATH):
            return self._people.login
        metadata = self._people.metadata if self._people else None
        if metadata is not None and metadata.slug_of(scope["path"]):
            return metadata
        authorization = self._people.authorization if self._people else None
        if authorization is not None and authorization.serves(scope["path"]):
            return authorization
        if self._people is not None and path == INVITATION_PATH:
            return self._people.invitation
        if path in (LOGIN_PATH, LOGOUT_PATH):
            return self._login
        return self._page if self._is_page(scope) else None

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._web_ui is not None  # noqa: S101 - `_is_page` has checked it
        await self._web_ui({**scope, "path": "/"}, receive, send)

    def _is_page(self, scope: Scope) -> bool:
        """Return whether a request is for a page of the web UI. Pages contain no data."""
        slug, path = split_path(scope["path"])
        if self._web_ui is None or not slug or is_mcp(path):
            return False
        return is_page_request({**scope, "path": path, "root_path": ""}, self._api, {})

    def _app(self, workspace: MountedWorkspace, path: str) -> ASGIApp:
        if path in LOCAL_PATHS or path.startswith(LOCAL_PREFIXES):
            return _not_found(path)
        return workspace.mcp if is_mcp(path) else self._api


class _HostedGuard(GuardMiddleware):
    """Rejects requests of other people than members. Whether a workspace exists is not revealed."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        credentials: HostedCredentials,
        hosts: Sequence[str],
        wrong_tokens: WrongTokens,
        is_public: Callable[[Scope], bool],
        metadata: ResourceMetadata | None,
    ) -> None:
        no_token = token_urlsafe()  # no request can have it
        super().__init__(app, token=no_token, hosts=hosts, wrong_tokens=wrong_tokens, is_public=is_public)
        self._hosted_credentials, self._metadata = credentials, metadata

    def _challenge(self, scope: Scope) -> str:
        slug, path = split_path(scope["path"])
        is_described = self._metadata is not None and is_mcp(path) and SLUG.fullmatch(slug) is not None
        if self._metadata is None or not is_described:
            return "Bearer"
        return self._metadata.challenge(slug, is_wrong=bool(bearer(Headers(scope=scope)).strip()))

    def _has_credentials(self, headers: Headers) -> bool:
        return self._hosted_credentials.are_given(headers)

    async def _authenticate(self, scope: Scope, headers: Headers) -> Rejection | None:
        slug, path = split_path(scope["path"])
        state = scope.setdefault("state", {})
        state[AUTHENTICATED], state[PROFILE] = False, ""
        if self._is_public(scope):
            return None
        if not slug:
            return 404, "Not found. Workspaces are at /w/NAME/."
        try:
            principal = await self._hosted_credentials.find(slug, path, headers)
        except StoreUnavailable:
            return 503, "The key cannot be checked: the database is not available. Try again."
        if principal is None:
            message = f"Send Authorization: Bearer <key>, with a key of {slug[:64]!r}."
            return 401, f"Missing or wrong API key. {message}"
        if not bearer(headers).strip() and (rejection := check_cross_origin(scope["method"], headers)):
            return rejection
        state[AUTHENTICATED], state[PRINCIPAL] = True, principal
        return None


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


def _cannot_open(path: str, error: Exception) -> ASGIApp:
    """Return the response if a workspace cannot be opened."""
    if isinstance(error, UnknownWorkspace):
        return _not_found(path)
    if isinstance(error, StoreUnavailable):
        return problem(503, f"The workspace cannot be opened: {error}", headers={"Retry-After": "5"})
    return problem(500, f"The settings of the workspace are invalid: {error}")


def _too_many(count: int, whose: str) -> ASGIApp:
    detail = f"{count} requests of {whose} are in progress at this server. Try again later."
    return problem(429, detail, headers={"Retry-After": "1"})


def _not_found(path: str) -> ASGIApp:
    return problem(404, f"Path {path[:200]} not found.")
