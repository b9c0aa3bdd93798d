"""The workspace of the current request, and routes that serve it."""

import math
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

from fastapi import Depends, FastAPI, Request
from starlette.types import ASGIApp

from onetool.domain.policy.rights import Rights
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.runtime.administration import Administration
from onetool.runtime.runtime import Runtime
from onetool.threads import Threads

from .active_chats import ActiveChats
from .app import create_api
from .auth.middleware import SAFE_METHODS
from .problems import ProblemError
from .routes.clients import client_routes
from .routes.connections import connection_routes
from .routes.invitations import invitation_routes
from .routes.members import grant_routes, key_routes, member_routes
from .routes.secrets import secret_routes

PREFIX = "/w/"
CHANGES, CHANGES_PER_MINUTE = "changes of members", 1_200
_workspace: ContextVar["MountedWorkspace"] = ContextVar("workspace of the request")


class MountedWorkspace(NamedTuple):
    """An open workspace with its MCP app."""

    runtime: Runtime
    credentials: CredentialSet
    """What is redacted in log records about it."""
    mcp: ASGIApp
    """For `/mcp` and the paths below it."""
    rights: Callable[[str], Awaitable[Rights]]
    """Returns the current rights of a principal."""
    administration: Administration


def create_hosted_api(threads: Threads) -> FastAPI:
    """Create routes that serve the workspace of the current request."""
    runtime = cast(Runtime, _CurrentRuntime(threads))
    api = create_api(runtime, chats=cast(ActiveChats, _CurrentChats()), is_hosted=True)
    limited = [Depends(_limit_changes)]
    for routes in (
        member_routes,
        grant_routes,
        key_routes,
        invitation_routes,
        connection_routes,
        client_routes,
    ):
        api.include_router(routes(lambda: _workspace.get().administration), dependencies=limited)
    api.include_router(secret_routes(lambda: _workspace.get().administration))
    return api


async def _limit_changes(request: Request) -> None:
    """Refuse changes of members, grants and keys that are too many: all servers read them again.

    Raises:
        ProblemError: There are too many.
    """
    if request.method in SAFE_METHODS:
        return
    wait_s = await _workspace.get().administration.rates.take(CHANGES, CHANGES_PER_MINUTE)
    if wait_s:
        detail = f"More than {CHANGES_PER_MINUTE:,} changes of members, keys and logins in a minute."
        raise ProblemError(429, detail, headers={"Retry-After": str(math.ceil(wait_s))})


def split_path(path: str) -> tuple[str, str]:
    """Return the workspace of a path and the path in it; two empty texts if it names no workspace."""
    if not path.startswith(PREFIX):
        return "", ""
    slug, slash, rest = path.removeprefix(PREFIX).partition("/")
    return (slug, slash + rest) if slash else (slug, "/")


class _CurrentRuntime:
    """The runtime of the workspace of the current request."""

    def __init__(self, threads: Threads) -> None:
        self.threads = threads

    def __getattr__(self, name: str) -> Any:
        return getattr(_workspace.get().runtime, name)


class _CurrentChats:
    """The conversations in progress of the workspace of the current request."""

    def __init__(self) -> None:
        self._chats: WeakKeyDictionary[Runtime, ActiveChats] = WeakKeyDictionary()

    def __getattr__(self, name: str) -> Any:
        runtime = _workspace.get().runtime
        if runtime not in self._chats:
            self._chats[runtime] = ActiveChats(runtime)
        return getattr(self._chats[runtime], name)


@contextmanager
def serving(workspace: MountedWorkspace) -> Iterator[None]:
    """Make this the workspace of the request that the block serves."""
    token = _workspace.set(workspace)
    try:
        yield
    finally:
        _workspace.reset(token)
