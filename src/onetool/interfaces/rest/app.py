"""The REST interface: all routes behind the guard, and the web UI."""

from collections.abc import Mapping, Sequence
from secrets import token_urlsafe

from fastapi import Depends, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from onetool.domain.identity.interface import acting_through
from onetool.runtime.runtime import Runtime
from onetool.telemetry.spans import continue_trace
from onetool.version import __version__

from .active_chats import ActiveChats
from .auth.credentials import Credentials
from .auth.login_code import LoginCode
from .auth.middleware import SAFE_METHODS, GuardMiddleware
from .auth.wrong_tokens import WrongTokens
from .json_bodies import check_json_body
from .problems import ProblemDetails, ProblemError, add_handlers
from .routes.access import access_routes
from .routes.activity import activity_routes
from .routes.audit import audit_routes
from .routes.bundles import bundle_routes
from .routes.calls import call_routes
from .routes.chat import chat_routes
from .routes.code import code_routes
from .routes.contents import content_routes
from .routes.jobs import job_routes
from .routes.local_secrets import local_secret_routes, provider_key_routes
from .routes.login import login_routes
from .routes.providers import provider_routes
from .routes.registry import registry_routes
from .routes.results import result_routes
from .routes.run import run_routes
from .routes.server_details import server_detail_routes
from .routes.server_edits import edit_routes
from .routes.server_imports import import_routes
from .routes.servers import review_routes, server_routes
from .routes.sessions import session_routes
from .routes.settings import MayEdit, setting_routes
from .routes.system import system_routes
from .routes.tools import tool_routes
from .routes.transfer import transfer_routes
from .routes.usage import usage_routes

SHARED_PATHS = frozenset(
    {
        "/tools",
        "/servers",
        "/resources",
        "/jobs",
        "/access",
        "/activity",
        "/members",
        "/keys",
        "/connections",
        "/secrets",
        "/audit",
        "/login",
        "/settings",
    }
)
"""Paths of both a route and a page of the web UI, besides those below `/jobs/` and `/activity/`.

Requests that accept HTML get the page.
"""

DESCRIPTION = """One place for every tool a language model uses.

All requests except `/healthz`, `/readyz`, `/login` and `/logout` require `Authorization: Bearer <token>` or
the cookie that `/login` sets. With the cookie, all methods except GET and HEAD also require `X-OneTool: 1`
and the `Origin` of the server. Errors are `application/problem+json`. Routes that call tools always return
`ok`, `value` or `error`, and `meta`.
"""

NO_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""FastAPI's own spans contain paths and queries, and it passes on baggage."""


def create_app(
    runtime: Runtime,
    *,
    token: str,
    hosts: Sequence[str] = (),
    mounts: Mapping[str, ASGIApp] | None = None,
    web_ui: ASGIApp | None = None,
    wrong_tokens: WrongTokens | None = None,
    edit_servers: bool = False,
    login_code: LoginCode | None = None,
) -> ASGIApp:
    """Create the ASGI app with the guard.

    Args:
        hosts: Host names of the server in addition to loopback.
        mounts: Apps for single paths, or for all below a path that ends with a slash, behind the same guard.
        web_ui: App of the web UI. Its pages contain no data and need no token.
        wrong_tokens: Delays for clients that send wrong tokens. Default: those of `WrongTokens`.
        edit_servers: Whether clients may change settings and servers, and thereby run programs as the user.
        login_code: A code that `/login` accepts once in place of the token.
    """
    wrong_tokens = wrong_tokens or WrongTokens()
    api = create_api(runtime, token, wrong_tokens, edit_servers=edit_servers, login_code=login_code)
    mounted = dict(mounts or {})

    def is_page(scope: Scope) -> bool:
        return web_ui is not None and is_page_request(scope, api, mounted)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        target = web_ui if web_ui is not None and is_page(scope) else _find_mount(scope, mounted) or api
        with continue_trace(Headers(scope=scope)):
            await target(scope, receive, send)

    return GuardMiddleware(app, token=token, hosts=hosts, wrong_tokens=wrong_tokens, is_public=is_page)


def create_api(
    runtime: Runtime,
    token: str | None = None,
    wrong_tokens: WrongTokens | None = None,
    *,
    edit_servers: bool = False,
    chats: ActiveChats | None = None,
    is_hosted: bool = False,
    login_code: LoginCode | None = None,
) -> FastAPI:
    """Create the routes without the guard. Without a token, `/login` rejects every token.

    is_hosted: whether they serve workspaces, which have other secrets and no settings of their members.
    """
    api = FastAPI(
        title="OneTool",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,  # a tool is returned as it was sent
        telemetry=NO_TELEMETRY,
        dependencies=[Depends(check_json_body)],
    )
    for routes in (bundle_routes, transfer_routes, tool_routes, call_routes, job_routes, system_routes):
        api.include_router(routes(runtime))
    for routes in (review_routes, run_routes, result_routes, usage_routes, access_routes):
        api.include_router(routes(runtime))
    for routes in (provider_routes, content_routes, code_routes):
        api.include_router(routes(runtime))
    api.include_router(activity_routes(runtime))
    api.include_router(audit_routes(runtime))
    api.include_router(server_routes(runtime, edit_servers=edit_servers))
    for edits in (import_routes, edit_routes, registry_routes)[: 2 if is_hosted else 3]:
        api.include_router(edits(runtime, lambda: _check_edits(edit_servers)))
    _include_settings(api, runtime, lambda: _check_edits(edit_servers, "Settings", "config"), is_hosted)
    api.include_router(server_detail_routes(runtime))
    chats = chats or ActiveChats(runtime)
    api.include_router(chat_routes(chats))
    api.include_router(session_routes(runtime, chats))
    credentials = Credentials(token or token_urlsafe())
    api.include_router(login_routes(credentials, wrong_tokens or WrongTokens(), login_code))
    api.add_middleware(_RestInterface)
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


def _include_settings(api: FastAPI, runtime: Runtime, may_edit: MayEdit, is_hosted: bool) -> None:
    for routes in () if is_hosted else (setting_routes, provider_key_routes, local_secret_routes):
        api.include_router(routes(runtime, may_edit))


class _RestInterface:
    """Makes `rest` the interface of what requests do."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with acting_through("rest"):
            await self._app(scope, receive, send)


def _check_edits(allowed: bool, what: str = "Servers", command: str = "servers") -> None:
    if not allowed:
        raise ProblemError(
            403,
            f"{what} cannot be changed here, because OneTool listens on other addresses than this machine's "
            f"own. Use `onetool {command}`, or start it with: onetool serve --edit-servers",
        )


def _find_mount(scope: Scope, mounted: Mapping[str, ASGIApp]) -> ASGIApp | None:
    path: str = scope["path"]
    folders = [folder for folder in mounted if folder.endswith("/") and path.startswith(folder)]
    return mounted.get(path) or (mounted[folders[0]] if folders else None)


def is_page_request(scope: Scope, api: FastAPI, mounted: Mapping[str, ASGIApp]) -> bool:
    """Return whether a request is for a page or an asset of the web UI."""
    path = scope["path"]
    if scope["method"] not in SAFE_METHODS or _find_mount(scope, mounted) is not None:
        return False
    if path in ("/", "/favicon.svg") or path.startswith("/assets/"):
        return True
    accepts_html = "text/html" in Headers(scope=scope).get("accept", "")
    is_shared = path in SHARED_PATHS or path.startswith(("/jobs/", "/activity/"))
    return accepts_html and (is_shared or not _has_route(api, scope))


def _has_route(api: FastAPI, scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in api.router.routes)
