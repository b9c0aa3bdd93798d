"""Routes that import MCP servers from a text or from the settings of an MCP client."""

from typing import Any

from fastapi import APIRouter, Depends

from onetool.domain.servers.pasted import UnreadableText
from onetool.domain.text.suggestions import did_you_mean
from onetool.interfaces.mcp_clients import NAME as OWN_NAME
from onetool.interfaces.mcp_clients import (
    McpClient,
    UnreadableClientConfig,
    known_clients,
    replace_with_onetool,
)
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.server_edits import (
    ClientList,
    ConfirmedImportBody,
    ImportBody,
    ImportedServers,
    ImportPreview,
)
from onetool.interfaces.server_settings.import_plan import (
    PlannedServer,
    digest_of,
    parse_pasted,
    plan_import,
    write_import,
)
from onetool.runtime.runtime import Runtime

from .server_edits import MayEdit, apply_edit


def import_routes(runtime: Runtime, may_edit: MayEdit) -> APIRouter:
    """Create the routes that import servers."""
    routes = APIRouter(prefix="/servers", tags=["servers"], dependencies=[Depends(may_edit)])

    @routes.get("/clients", response_model=ClientList, responses=problem_responses())
    async def list_clients() -> Any:
        """List the MCP clients of the user whose servers can be imported."""
        clients = await runtime.threads.run(_existing_clients)
        return json_response(
            {"clients": [{"name": c.name, "title": c.title, "file": str(c.file)} for c in clients]}
        )

    @routes.post("/import/preview", response_model=ImportPreview, responses=problem_responses(422))
    async def preview_import(body: ImportBody) -> Any:
        """Return what an import would write, without writing it."""
        planned = await _plan(runtime, body)
        shown = {"servers": [_planned_json(server) for server in planned], "digest": digest_of(planned)}
        return json_response(runtime.state.redactor.mask(shown))

    @routes.post(
        "/import", status_code=201, response_model=ImportedServers, responses=problem_responses(409, 422)
    )
    async def import_servers(body: ConfirmedImportBody) -> Any:
        """Add the servers of a preview. Their secrets are moved to secrets.yaml. Nothing is started."""
        planned = await _plan(runtime, body)
        if digest_of(planned) != body.digest:
            raise ProblemError(409, "The servers have changed since the preview. Preview them again.")
        known = {server.source_name for server in planned}
        if unknown := set(body.only or ()) - known:
            name = min(unknown)
            raise ProblemError(400, f"only: there is no server {name!r}.{did_you_mean(name, known)}")
        chosen = [s for s in planned if body.only is None or s.source_name in body.only]
        names = await apply_edit(runtime, write_import, runtime.state.configuration.paths, chosen)
        note = await _move(runtime, body, chosen) if body.move else ""
        return json_response({"names": names, "note": note}, 201)

    return routes


async def _plan(runtime: Runtime, body: ImportBody) -> list[PlannedServer]:
    if (body.text is None) == (body.client is None):
        raise ProblemError(400, "Pass either text or client.")
    await runtime.reload_if_changed()
    reserved = set(await runtime.state.catalog.packs()) - set(runtime.state.servers)
    try:
        entries = await runtime.threads.run(_read_entries, body)
        renamed = {body.names.get(name, name): entry for name, entry in entries.items()}
        return await runtime.threads.run(plan_import, renamed, runtime.state.configuration, reserved)
    except (UnreadableText, UnreadableClientConfig) as error:
        raise ProblemError(422, str(error)) from None


def _read_entries(body: ImportBody) -> dict[str, Any]:
    if body.client is None:
        return parse_pasted(body.text or "")
    servers = known_clients()[body.client].servers()
    return {name: entry for name, entry in servers.items() if name != OWN_NAME}


def _existing_clients() -> list[McpClient]:
    return [client for client in known_clients().values() if client.file.exists()]


def _planned_json(server: PlannedServer) -> dict[str, Any]:
    return {
        "sourceName": server.source_name,
        "status": server.status,
        "name": server.name,
        "settings": dict(server.settings),
        "secrets": list(server.secrets),
        "notes": list(server.notes),
        "problem": server.problem,
    }


async def _move(runtime: Runtime, body: ConfirmedImportBody, chosen: list[PlannedServer]) -> str:
    if body.client is None:
        raise ProblemError(400, "move: only the servers of a client can be moved.")
    moved = {server.source_name for server in chosen if server.status in ("new", "exists")}
    originals = {new: old for old, new in body.names.items()}
    client = known_clients()[body.client]
    try:
        backup = await runtime.threads.run(
            replace_with_onetool, client, {originals.get(name, name) for name in moved}
        )
    except UnreadableClientConfig as error:
        raise ProblemError(409, f"The servers were added, but not moved: {error}.") from None
    return f"Replaced them with OneTool in {client.file}. Backup: {backup}. Restart {client.title}."
