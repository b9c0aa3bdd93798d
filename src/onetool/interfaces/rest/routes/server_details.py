"""Routes for one MCP server and its instructions."""

from typing import Any

from fastapi import APIRouter

from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.servers import ApproveInstructionsBody, ServerDetails
from onetool.runtime.runtime import Runtime

from .servers import ServerName, check_enabled, check_name


def server_detail_routes(runtime: Runtime) -> APIRouter:
    """Create the routes. They come last, because a name matches any path below `/servers`."""
    routes = APIRouter(prefix="/servers", tags=["servers"])

    @routes.get("/{name}", response_model=ServerDetails, responses=problem_responses(404))
    async def get_server(name: ServerName) -> Any:
        """Return a server and its instructions, without starting it."""
        await check_name(runtime, name)
        return json_response(runtime.state.redactor.mask(await runtime.state.servers.details(name)))

    @routes.post("/{name}/instructions/approve", status_code=204, responses=problem_responses(404, 409))
    async def approve_instructions(name: ServerName, body: ApproveInstructionsBody) -> None:
        """Approve the quarantined instructions of a server."""
        await check_enabled(runtime, name)
        try:
            await runtime.state.servers[name].approve_instructions(body.pin)
        except ValueError as error:
            raise ProblemError(409, str(error)) from None

    return routes
