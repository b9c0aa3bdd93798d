"""`/run` and `/signatures`: code that calls tools, and what it may call."""

from typing import Any

from fastapi import APIRouter

from onetool.domain.caller import Caller, grant
from onetool.domain.signature import signature
from onetool.domain.texts import first_line
from onetool.runtime import Runtime

from .problems import documented
from .queries import reply
from .screen_shapes import RunAnswer, RunBody, Signatures, camel

MOST_SIGNATURES = 5_000
"""More are of no use to whoever types code."""


def code_routes(runtime: Runtime) -> APIRouter:
    """Make the routes of code."""
    routes = APIRouter(tags=["code"])

    @routes.post("/run", response_model=RunAnswer, responses=documented())
    async def run(body: RunBody) -> Any:
        """Run Python in which every pack is there: its last line is the result."""
        result = await runtime.run(body.command, Caller(door="rest", approve=grant))
        text, handle = await runtime.shown(result)
        shown = result.to_json() | {"calls": [camel(call._asdict()) for call in result.calls], "text": text}
        return reply(shown | ({"handle": handle} if handle else {}))

    @routes.get("/signatures", response_model=Signatures, responses=documented())
    async def list_signatures() -> Any:
        """List the functions that code may call, as far as they are known without starting a server."""
        packs: dict[str, list[dict[str, str]]] = {}
        number = 0
        async for tool in runtime.catalog.tools(Caller(door="rest"), wakes=False):
            pack, _, name = tool.spec.qualified_name.partition(".")
            said = {"signature": signature(tool.spec), "description": first_line(tool.spec.description)}
            packs.setdefault(pack, []).append({"name": name} | said)
            if (number := number + 1) == MOST_SIGNATURES:
                break
        return reply(runtime.masked({"packs": packs}))

    return routes
