"""`/servers`: other MCP servers, how they are, and what of them is held back."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from onetool.domain.nearest import did_you_mean
from onetool.runtime import Runtime

from .problems import Failed, documented
from .queries import reply
from .screen_shapes import ApproveBody, HeldBackList, LogLines, Probed, ServerList
from .server_log import read_log

ServerName = Annotated[str, Path(alias="name", max_length=300, json_schema_extra={"examples": ["github"]})]
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many lines at most.")]


def server_routes(runtime: Runtime) -> APIRouter:
    """Make the routes of other servers."""
    routes = APIRouter(prefix="/servers", tags=["servers"])

    @routes.get("", response_model=ServerList, responses=documented())
    async def list_servers() -> Any:
        """List the servers, as far as they are known without starting them."""
        await runtime.follow()
        return reply(runtime.masked({"servers": await runtime.servers.describe()}))

    @routes.post("/{name}/probe", response_model=Probed, responses=documented(404, 409))
    async def probe(name: ServerName) -> Any:
        """Start a server if need be, and say what it answers."""
        await _check(runtime, name)
        return reply(runtime.masked(await runtime.servers.try_out(name)))

    @routes.get("/{name}/held-back", response_model=HeldBackList, responses=documented(404, 409))
    async def held_back(name: ServerName) -> Any:
        """Show the tools that wait for somebody to look at them, and what has changed."""
        await _check(runtime, name)
        tools = [
            {"name": it.name, "reason": it.reason, "difference": it.difference(), "pin": it.new.pin}
            for it in await runtime.servers[name].held_back()
        ]
        return reply(runtime.masked({"tools": tools}))

    @routes.post("/{name}/approve", status_code=204, responses=documented(404, 409))
    async def approve(name: ServerName, body: ApproveBody | None = None) -> None:
        """Let held back tools be used: as they are listed now, or only as they were seen."""
        await _check(runtime, name)
        waiting = {held.name: held.new.pin for held in await runtime.servers[name].held_back()}
        wanted = waiting if body is None else body.wanted(waiting)
        if unknown := set(wanted) - set(waiting):
            raise Failed(404, f"{name!r} holds back no tool {min(unknown)!r}.")
        try:
            await runtime.servers[name].approve({tool: pin or waiting[tool] for tool, pin in wanted.items()})
        except ValueError as error:
            raise Failed(409, str(error)) from None

    @routes.get("/{name}/log", response_model=LogLines, responses=documented(404))
    async def show_log(name: ServerName, limit: Limit = 200) -> Any:
        """Show what was logged about a server, the newest at the end."""
        await _check_name(runtime, name)
        file = runtime.configuration.places.log_file
        lines = await runtime.threads.run(read_log, file, f"onetool.servers.{name}", limit)
        return reply(runtime.masked({"lines": lines}))

    return routes


async def _check_name(runtime: Runtime, name: str) -> None:
    await runtime.follow()
    known = {*runtime.servers, *runtime.configuration.settings.servers}
    if name not in known:
        raise Failed(404, f"There is no server {name!r}.{did_you_mean(name, known)}")


async def _check(runtime: Runtime, name: str) -> None:
    await _check_name(runtime, name)
    if name not in runtime.servers:
        raise Failed(409, f"The server {name!r} is switched off in the settings.")
