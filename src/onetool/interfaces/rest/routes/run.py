"""`/run` and `/signatures`: run code, and list the functions that it can call."""

from typing import Any

from fastapi import APIRouter, Response

from onetool.domain.calls.approval_request import call_digest
from onetool.domain.calls.caller import Caller
from onetool.domain.errors import Reason
from onetool.domain.jobs.job import Job
from onetool.domain.text.strings import first_line
from onetool.domain.tools.signature import signature
from onetool.interfaces.rest.job_bodies import ASKED, input_required, rest_caller
from onetool.interfaces.rest.outcome_bodies import outcome_response
from onetool.interfaces.rest.params import MediaFormat, json_response
from onetool.interfaces.rest.problems import STATUS_BY_REASON, problem_responses
from onetool.interfaces.rest.schemas.run import RunBody, RunResponse, Signatures
from onetool.runtime.outcomes import Outcome
from onetool.runtime.runtime import CodeResult, Runtime

MAX_SIGNATURES = 5_000
"""Limit for completion in the editor."""
NOT_BEGUN = (Reason.BUSY, Reason.UNAVAILABLE)


def run_routes(runtime: Runtime) -> APIRouter:
    """Create the routes that run code."""
    routes = APIRouter(tags=["code"])

    @routes.post("/run", response_model=RunResponse, responses=problem_responses() | ASKED)
    async def run_code(body: RunBody, media: MediaFormat = "handle") -> Any:
        """Run Python code that can call the tools of every pack. The last line is the result."""
        caller, code = rest_caller(runtime, can_ask=body.interactive), body.command
        if not body.interactive:
            return await _run_response(runtime, await runtime.run(code, caller), media)
        digest = call_digest("run", {"command": code})
        result = await runtime.jobs.run(lambda own: runtime.run(code, own), caller, "run", digest)
        if isinstance(result, Job):
            return input_required(runtime, result)
        return await _run_response(runtime, result, media)

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


async def _run_response(runtime: Runtime, outcome: Outcome, media: MediaFormat) -> Response:
    """Return the response to a run. Only one that did not begin has another status than 200."""
    error = outcome.error if isinstance(outcome, CodeResult) else None
    status = STATUS_BY_REASON[error.reason] if error and error.reason in NOT_BEGUN else 200
    response = await outcome_response(runtime, outcome, status, inline=media == "inline")
    if status != 200:
        response.headers["Retry-After"] = "1"
    return response
