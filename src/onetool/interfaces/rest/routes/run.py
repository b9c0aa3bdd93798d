"""`/run` and `/signatures`: run code, and list the functions that it can call."""

from typing import Any

from fastapi import APIRouter

from onetool.domain.calls.caller import Caller, always_approve
from onetool.domain.text.strings import first_line
from onetool.domain.tools.signature import signature
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import problem_responses
from onetool.interfaces.rest.schemas.fields import camel_keys
from onetool.interfaces.rest.schemas.run import RunBody, RunResponse, Signatures
from onetool.runtime.runtime import Runtime

MAX_SIGNATURES = 5_000
"""Limit for completion in the editor."""


def run_routes(runtime: Runtime) -> APIRouter:
    """Create the routes that run code."""
    routes = APIRouter(tags=["code"])

    @routes.post("/run", response_model=RunResponse, responses=problem_responses())
    async def run_code(body: RunBody) -> Any:
        """Run Python code that can call the tools of every pack. The last line is the result."""
        result = await runtime.run(body.command, Caller(interface="rest", approve=always_approve))
        text, handle = await runtime.state.model_output.render_run(result)
        response = result.to_json() | {
            "calls": [camel_keys(call._asdict()) for call in result.calls],
            "text": text,
        }
        return json_response(response | ({"handle": handle} if handle else {}))

    @routes.get("/signatures", response_model=Signatures, responses=problem_responses())
    async def list_signatures() -> Any:
        """List the functions that code can call, without starting servers."""
        packs: dict[str, list[dict[str, str]]] = {}
        count = 0
        async for tool in runtime.state.catalog.tools(Caller(interface="rest"), start_servers=False):
            pack, _, name = tool.spec.qualified_name.partition(".")
            packs.setdefault(pack, []).append(
                {
                    "name": name,
                    "signature": signature(tool.spec),
                    "description": first_line(tool.spec.description),
                }
            )
            if (count := count + 1) == MAX_SIGNATURES:
                break
        return json_response(runtime.state.redactor.mask({"packs": packs}))

    return routes
