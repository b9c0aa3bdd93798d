"""`/servers`: list and test MCP servers, and approve their quarantined tools."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from onetool.domain.text.json_text import pretty
from onetool.domain.text.suggestions import did_you_mean
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.servers import (
    ApproveBody,
    LogLines,
    ProbeResponse,
    QuarantineResponse,
    ServerList,
    ToolAccessList,
)
from onetool.interfaces.server_log import read_log
from onetool.runtime.runtime import Runtime

ServerName = Annotated[str, Path(alias="name", max_length=300, json_schema_extra={"examples": ["github"]})]
Limit = Annotated[int, Query(ge=1, le=1_000, description="Maximum number of entries.")]


def server_routes(runtime: Runtime, *, edit_servers: bool = False) -> APIRouter:
    """Create the server routes."""
    routes = APIRouter(prefix="/servers", tags=["servers"])

    @routes.get("", response_model=ServerList, responses=problem_responses())
    async def list_servers() -> Any:
        """List servers without starting them."""
        await runtime.reload_if_changed()
        servers = await runtime.state.servers.describe()
        return json_response(runtime.state.redactor.mask({"servers": servers, "canEdit": edit_servers}))

    @routes.post("/{name}/probe", response_model=ProbeResponse, responses=problem_responses(404, 409))
    async def probe_server(name: ServerName) -> Any:
        """Connect to a server and return the result."""
        await check_enabled(runtime, name)
        return json_response(runtime.state.redactor.mask(await runtime.state.servers.probe(name)))

    @routes.get("/{name}/log", response_model=LogLines, responses=problem_responses(404))
    async def get_server_log(name: ServerName, limit: Limit = 200) -> Any:
        """Return the last log entries about a server, oldest first."""
        await check_name(runtime, name)
        file = runtime.state.configuration.paths.log_file
        lines = await runtime.threads.run(read_log, file, f"onetool.servers.{name}", limit)
        return json_response(runtime.state.redactor.mask({"lines": lines}))

    return routes


def review_routes(runtime: Runtime) -> APIRouter:
    """Create the routes to review and approve the tools of a server."""
    routes = APIRouter(prefix="/servers", tags=["servers"])

    @routes.get(
        "/{name}/quarantine", response_model=QuarantineResponse, responses=problem_responses(404, 409)
    )
    async def list_quarantined_tools(name: ServerName) -> Any:
        """List the quarantined tools and other definitions of a server, and their changes."""
        await check_enabled(runtime, name)
        tools = [
            {
                "name": tool.name,
                "kind": tool.kind,
                "reason": tool.reason,
                "difference": tool.difference(),
                "pin": tool.new.pin,
            }
            for tool in await runtime.state.servers[name].quarantined()
        ]
        return json_response(runtime.state.redactor.mask({"tools": tools}))

    @routes.get("/{name}/tools", response_model=ToolAccessList, responses=problem_responses(404, 409))
    async def list_tool_access(name: ServerName) -> Any:
        """List the tools of a server's last listing: which are treated as read-only, and why."""
        await check_enabled(runtime, name)
        tools = [
            {
                "name": access.tool.name,
                "function": access.function,
                "problem": access.problem,
                "readOnly": access.read_only,
                "reason": access.reason,
                "canApprove": access.is_claim_unaccepted,
                "definition": pretty(access.tool.definition) if access.is_claim_unaccepted else "",
                "pin": access.tool.pin,
            }
            for access in await runtime.state.servers[name].access()
        ]
        return json_response(runtime.state.redactor.mask({"tools": tools}))

    @routes.post("/{name}/approve", status_code=204, responses=problem_responses(404, 409))
    async def approve_tools(name: ServerName, body: ApproveBody | None = None) -> None:
        """Approve quarantined tools, or tools that the server declares as read-only.

        Without a body, approve all quarantined tools.
        """
        await check_enabled(runtime, name)
        server = runtime.state.servers[name]
        quarantined = {tool.name: tool.new.pin for tool in await server.quarantined()}
        access = [access for access in await server.access() if access.is_claim_unaccepted]
        known = {item.tool.name: item.tool.pin for item in access} | quarantined
        pins = quarantined if body is None else body.pins(quarantined)
        if unknown := set(pins) - set(known):
            raise ProblemError(404, f"Server {name!r} has no tool {min(unknown)!r} to approve.")
        try:
            await server.approve({tool: pin or known[tool] for tool, pin in pins.items()})
        except ValueError as error:
            raise ProblemError(409, str(error)) from None

    return routes


async def check_name(runtime: Runtime, name: str) -> None:
    """Raise a problem unless a server with this name is configured."""
    await runtime.reload_if_changed()
    names = {*runtime.state.servers, *runtime.state.configuration.settings.servers}
    if name not in names:
        raise ProblemError(404, f"Server {name!r} not found.{did_you_mean(name, names)}")


async def check_enabled(runtime: Runtime, name: str) -> None:
    """Raise a problem unless a server with this name is enabled."""
    await check_name(runtime, name)
    if name not in runtime.state.servers:
        raise ProblemError(409, f"Server {name!r} is disabled in the settings.")
