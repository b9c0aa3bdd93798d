"""The REST door: every route, behind the guard, and the screens beside it."""

from collections.abc import Container, Mapping, Sequence
from secrets import token_urlsafe

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from onetool.runtime import Runtime
from onetool.version import __version__

from .bundles import bundle_routes
from .calls import call_routes
from .chat import chat_routes
from .chats import Chats
from .code import code_routes
from .credentials import Credentials
from .exchange import exchange_routes
from .guard import ONLY_READS, Guard
from .login import login_routes
from .problems import Problem, add_handlers
from .providers import provider_routes
from .servers import server_routes
from .sessions import session_routes
from .system import system_routes
from .tools import tool_routes
from .usage import usage_routes

SHARED = frozenset({"/tools", "/servers", "/login"})
"""Paths of both a route and a screen: a browser that wants a page gets the screen."""

ABOUT = """One place for every tool a language model uses.

Every request but `/healthz`, `/readyz` and `/login` needs `Authorization: Bearer <token>`, or the cookie
that `/login` gives to a page; with the cookie, all that is not a GET needs `X-OneTool: 1` and the page's own
`Origin` too. Errors are `application/problem+json`, except for calls, which always answer `ok`, `value` or
`error`, and `meta`.
"""


def create_app(
    runtime: Runtime,
    *,
    token: str,
    hosts: Sequence[str] = (),
    others: Mapping[str, ASGIApp] | None = None,
    screens: ASGIApp | None = None,
) -> ASGIApp:
    """Make the app; `hosts` are names, besides loopback's own, under which it is reached.

    others: apps for single paths, behind the same guard. screens: the app of the pages; they hold no data
    and need no token.
    """
    api, beside = create_api(runtime, token), dict(others or {})

    def is_screen(scope: Scope) -> bool:
        return screens is not None and _is_screen(scope, api, beside)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        chosen = screens if screens is not None and is_screen(scope) else beside.get(scope["path"], api)
        await chosen(scope, receive, send)

    return Guard(app, token=token, hosts=hosts, is_open=is_screen)


def create_api(runtime: Runtime, token: str | None = None) -> FastAPI:
    """Make the routes, without the guard in front of them; nobody can log in without a token."""
    api = FastAPI(title="OneTool", version=__version__, description=ABOUT, docs_url=None, redoc_url=None)
    for routes in (bundle_routes, exchange_routes, tool_routes, call_routes, system_routes):
        api.include_router(routes(runtime))
    for routes in (server_routes, code_routes, usage_routes, provider_routes):
        api.include_router(routes(runtime))
    chats = Chats(runtime)
    api.include_router(chat_routes(chats))
    api.include_router(session_routes(runtime, chats))
    api.include_router(login_routes(Credentials(token or token_urlsafe())))
    add_handlers(api, runtime.masked)
    document = api.openapi

    def openapi() -> dict[str, object]:
        """The document with the parts that FastAPI does not know of."""
        made = document()
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"token": []}]
        for path in made["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        return made

    api.openapi = openapi  # type: ignore[method-assign]
    return api


def _is_screen(scope: Scope, api: FastAPI, beside: Container[str]) -> bool:
    """Whether a page or a part of one is asked for, and no route answers that."""
    path = scope["path"]
    if scope["method"] not in ONLY_READS or path in beside:
        return False
    if path in ("/", "/favicon.svg") or path.startswith("/assets/"):
        return True
    wants_page = "text/html" in Headers(scope=scope).get("accept", "")
    return wants_page and (path in SHARED or not _answers(api, scope))


def _answers(api: FastAPI, scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in api.router.routes)
