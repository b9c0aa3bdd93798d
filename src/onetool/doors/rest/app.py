"""The REST door: every route under `/tools`, behind the guard."""

from collections.abc import Mapping, Sequence

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from onetool.runtime import Runtime
from onetool.version import __version__

from .bundles import bundle_routes
from .calls import call_routes
from .exchange import exchange_routes
from .guard import Guard
from .problems import Problem, add_handlers
from .system import system_routes
from .tools import tool_routes

ABOUT = """One place for every tool a language model uses.

Every request but `/healthz` and `/readyz` needs `Authorization: Bearer <token>`. Errors are
`application/problem+json`, except for calls, which always answer `ok`, `value` or `error`, and `meta`.
"""


def create_app(
    runtime: Runtime, *, token: str, hosts: Sequence[str] = (), others: Mapping[str, ASGIApp] | None = None
) -> ASGIApp:
    """Make the app; `hosts` are names, besides loopback's own, under which it is reached.

    others: apps for single paths, behind the same guard.
    """
    api, beside = create_api(runtime), dict(others or {})

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await beside.get(scope.get("path", ""), api)(scope, receive, send)

    return Guard(app, token=token, hosts=hosts)


def create_api(runtime: Runtime) -> FastAPI:
    """Make the routes, without the guard in front of them."""
    api = FastAPI(title="OneTool", version=__version__, description=ABOUT, docs_url=None, redoc_url=None)
    for routes in (bundle_routes, exchange_routes, tool_routes, call_routes, system_routes):
        api.include_router(routes(runtime))
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
