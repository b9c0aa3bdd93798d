"""The REST interface: all routes behind the guard, and the web UI."""

from collections.abc import Container, Mapping, Sequence
from secrets import token_urlsafe

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from onetool.runtime.runtime import Runtime
from onetool.version import __version__

from .active_chats import ActiveChats
from .auth.credentials import Credentials
from .auth.middleware import SAFE_METHODS, GuardMiddleware
from .auth.wrong_tokens import WrongTokens
from .problems import ProblemDetails, add_handlers
from .routes.bundles import bundle_routes
from .routes.calls import call_routes
from .routes.chat import chat_routes
from .routes.login import login_routes
from .routes.providers import provider_routes
from .routes.run import run_routes
from .routes.servers import review_routes, server_routes
from .routes.sessions import session_routes
from .routes.system import system_routes
from .routes.tools import tool_routes
from .routes.transfer import transfer_routes
from .routes.usage import usage_routes

SHARED_PATHS = frozenset({"/tools", "/servers", "/login"})
"""Paths of both a route and a page of the web UI. Requests that accept HTML get the page."""

DESCRIPTION = """One place for every tool a language model uses.

All requests except `/healthz`, `/readyz`, `/login` and `/logout` require `Authorization: Bearer <token>` or
the cookie that `/login` sets. With the cookie, all methods except GET and HEAD also require `X-OneTool: 1`
and the `Origin` of the server. Errors are `application/problem+json`. Routes that call tools always return
`ok`, `value` or `error`, and `meta`.
"""


def create_app(
    runtime: Runtime,
    *,
    token: str,
    hosts: Sequence[str] = (),
    mounts: Mapping[str, ASGIApp] | None = None,
    web_ui: ASGIApp | None = None,
    wrong_tokens: WrongTokens | None = None,
) -> ASGIApp:
    """Create the ASGI app with the guard.

    Args:
        hosts: Host names of the server in addition to loopback.
        mounts: Apps for single paths, behind the same guard.
        web_ui: App of the web UI. Its pages contain no data and need no token.
        wrong_tokens: Delays for clients that send wrong tokens. Default: those of `WrongTokens`.
    """
    wrong_tokens = wrong_tokens or WrongTokens()
    api, mounted = create_api(runtime, token, wrong_tokens), dict(mounts or {})

    def is_page(scope: Scope) -> bool:
        return web_ui is not None and _is_page(scope, api, mounted)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        target = web_ui if web_ui is not None and is_page(scope) else mounted.get(scope["path"], api)
        await target(scope, receive, send)

    return GuardMiddleware(app, token=token, hosts=hosts, wrong_tokens=wrong_tokens, is_public=is_page)


def create_api(
    runtime: Runtime, token: str | None = None, wrong_tokens: WrongTokens | None = None
) -> FastAPI:
    """Create the routes without the guard. Without a token, `/login` rejects every token."""
    api = FastAPI(
        title="OneTool",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,  # a tool is returned as it was sent
    )
    for routes in (bundle_routes, transfer_routes, tool_routes, call_routes, system_routes):
        api.include_router(routes(runtime))
    for routes in (server_routes, review_routes, run_routes, usage_routes, provider_routes):
        api.include_router(routes(runtime))
    chats = ActiveChats(runtime)
    api.include_router(chat_routes(chats))
    api.include_router(session_routes(runtime, chats))
    api.include_router(login_routes(Credentials(token or token_urlsafe()), wrong_tokens or WrongTokens()))
    add_handlers(api, lambda text: runtime.state.redactor.redact(text))
    document = api.openapi

    def openapi() -> dict[str, object]:
        """Return the document with security and problem responses, which FastAPI cannot derive."""
        spec = document()
        schemas = spec.setdefault("components", {}).setdefault("schemas", {})
        problem = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas |= problem.pop("$defs") | {"Problem": problem}
        spec["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        spec["security"] = [{"token": []}]
        for path in spec["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        return spec

    api.openapi = openapi  # type: ignore[method-assign]
    return api


def _is_page(scope: Scope, api: FastAPI, mounted: Container[str]) -> bool:
    """Return whether a request is for a page or an asset of the web UI."""
    path = scope["path"]
    if scope["method"] not in SAFE_METHODS or path in mounted:
        return False
    if path in ("/", "/favicon.svg") or path.startswith("/assets/"):
        return True
    accepts_html = "text/html" in Headers(scope=scope).get("accept", "")
    return accepts_html and (path in SHARED_PATHS or not _has_route(api, scope))


def _has_route(api: FastAPI, scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in api.router.routes)
