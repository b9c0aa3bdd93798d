"""`/servers/{name}/update`: newer versions of servers that were installed from the MCP registry."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter

from onetool.domain.servers.registry_entry import LATEST, RegistryEntry
from onetool.domain.text.suggestions import did_you_mean
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.registry_errors import registry_problems
from onetool.interfaces.rest.registry_views import review_json
from onetool.interfaces.rest.schemas.registry import (
    InstalledResponse,
    UpdateBody,
    UpdatePlanBody,
    UpdateResponse,
)
from onetool.interfaces.server_settings.installation import choose_package, format_command
from onetool.interfaces.server_settings.registry_access import open_client, read_entry, stored_secrets
from onetool.interfaces.server_settings.registry_review import InstallationReview, review_update
from onetool.interfaces.server_settings.registry_update import (
    check_installed_package,
    is_newer,
    read_installed,
    write_update,
)
from onetool.interfaces.server_settings.registry_values import GivenValues
from onetool.registry.client import OfflineNote
from onetool.registry.install_records import InstallRecord
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import Configuration

from .servers import ServerName

Values = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _FoundUpdate:
    """The latest entry of an installed server, and the update if that is newer."""

    record: InstallRecord
    entry: RegistryEntry
    review: InstallationReview | None = None
    remark: str = ""
    notes: list[OfflineNote] = field(default_factory=list)


def update_routes(runtime: Runtime) -> APIRouter:
    """Create the routes to look for an update."""
    routes = APIRouter(prefix="/servers")

    @routes.get("/{name}/update", response_model=UpdateResponse, responses=problem_responses(404, 409, 502))
    async def find_update(name: ServerName) -> Any:
        """Return the latest version of a server from the registry, and what an update would change."""
        return json_response(_update_json(runtime, name, await _find(runtime, name, {})))

    @routes.post(
        "/{name}/update/plan", response_model=UpdateResponse, responses=problem_responses(404, 409, 502)
    )
    async def plan_update(name: ServerName, body: UpdatePlanBody) -> Any:
        """Return what an update would change with values for new inputs. Writes nothing."""
        return json_response(_update_json(runtime, name, await _find(runtime, name, body.values)))

    return routes


def update_edit_routes(runtime: Runtime, lock: asyncio.Lock) -> APIRouter:
    """Create the route that updates a server."""
    routes = APIRouter(prefix="/servers")

    @routes.post(
        "/{name}/update", response_model=InstalledResponse, responses=problem_responses(404, 409, 502)
    )
    async def update_server(name: ServerName, body: UpdateBody) -> Any:
        """Update a server exactly as it was reviewed. Changed definitions of tools are quarantined."""
        async with lock:
            found = await _find(runtime, name, body.values)
            if found.review is None:
                raise ProblemError(409, f"Server {name!r} is up to date.")
            with registry_problems():
                planned = found.review.approved(body.planDigest)
                paths = runtime.state.configuration.paths
                await runtime.threads.run(write_update, paths, name, planned, found.review.written)
            await runtime.reload_if_changed()
        return json_response({"name": name})

    return routes


async def _find(runtime: Runtime, name: str, values: Values) -> _FoundUpdate:
    await runtime.reload_if_changed()
    configuration = runtime.state.configuration
    configured = configuration.settings.servers
    if name not in configured:
        raise ProblemError(404, f"Server {name!r} not found.{did_you_mean(name, configured)}")
    with registry_problems():
        record = await runtime.threads.run(read_installed, configuration, name)
        if record is None:
            raise ProblemError(404, f"Server {name!r} was not installed from the registry.")
        return await runtime.threads.run(_plan_update, configuration, name, record, values)


def _plan_update(
    configuration: Configuration, name: str, record: InstallRecord, values: Values
) -> _FoundUpdate:
    notes: list[OfflineNote] = []
    entry = read_entry(open_client(configuration, notes.append), record.name, LATEST)
    if not is_newer(entry, record):
        return _FoundUpdate(record=record, entry=entry, notes=notes)
    remark = check_installed_package(record)
    given = GivenValues(named=values, known=record.values)
    package = choose_package(entry, record.kind, values)
    secrets = configuration.secrets.names | stored_secrets(configuration.paths)
    review = review_update(name, package, given, secrets, configuration.paths)
    return _FoundUpdate(record=record, entry=entry, review=review, remark=remark, notes=notes)


def _update_json(runtime: Runtime, name: str, found: _FoundUpdate) -> Any:
    base_url, review = runtime.state.configuration.settings.registry.base_url, found.review
    update = {
        "name": name,
        "installed": found.record.version,
        "latest": found.entry.version,
        "isNewer": review is not None,
        "command": format_command(found.record.server),
        "remark": found.remark,
        "plan": review_json(review, base_url, found.notes) if review else None,
    }
    return runtime.state.redactor.mask(update)
