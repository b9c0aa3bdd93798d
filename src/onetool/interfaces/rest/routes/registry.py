"""`/registry`: search the MCP registry, review a server of it and install it."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.registry_errors import registry_problems
from onetool.interfaces.rest.registry_views import entry_json, offline_json, review_json
from onetool.interfaces.rest.schemas.registry import (
    InstallBody,
    InstalledResponse,
    PlanBody,
    RegistryPlanResponse,
    RegistrySearchResponse,
)
from onetool.interfaces.server_settings.installation import (
    choose_package,
    find_name_problem,
    write_installation,
)
from onetool.interfaces.server_settings.registry_access import open_client, read_entry, stored_secrets
from onetool.interfaces.server_settings.registry_review import InstallationReview, review_installation
from onetool.interfaces.server_settings.registry_values import GivenValues
from onetool.registry.client import OfflineNote
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import Configuration

from .server_updates import update_edit_routes, update_routes

MAX_RESULTS = 50
Search = Annotated[str, Query(min_length=1, max_length=200, description="Words in the name or description.")]


def registry_routes(runtime: Runtime, may_edit: Callable[[], None]) -> APIRouter:
    """Create the routes for servers of the registry.

    may_edit: raises ProblemError if this server must not change the settings.
    """
    routes, lock = APIRouter(tags=["registry"]), asyncio.Lock()
    routes.include_router(_review_routes(runtime))
    routes.include_router(update_routes(runtime))
    for edits in (_install_routes(runtime, lock), update_edit_routes(runtime, lock)):
        routes.include_router(edits, dependencies=[Depends(may_edit)])
    return routes


def _review_routes(runtime: Runtime) -> APIRouter:
    routes = APIRouter(prefix="/registry")

    @routes.get("/servers", response_model=RegistrySearchResponse, responses=problem_responses(409, 502))
    async def search_registry(search: Search) -> Any:
        """Search the latest versions of servers whose name or description contains all words."""
        await runtime.reload_if_changed()
        words = search.split()
        if not words:
            raise ProblemError(400, "search contains no word.")
        with registry_problems():
            found = await runtime.threads.run(_search, runtime.state.configuration, words)
        return json_response(runtime.state.redactor.mask(found))

    @routes.post("/plan", response_model=RegistryPlanResponse, responses=problem_responses(404, 409, 502))
    async def plan_server(body: PlanBody) -> Any:
        """Return what an installation would write and run, and which values are missing. Writes nothing."""
        notes: list[OfflineNote] = []
        with registry_problems():
            review = await _review(runtime, body, notes)
        base_url = runtime.state.configuration.settings.registry.base_url
        return json_response(runtime.state.redactor.mask(review_json(review, base_url, notes)))

    return routes


def _install_routes(runtime: Runtime, lock: asyncio.Lock) -> APIRouter:
    routes = APIRouter(prefix="/registry")

    @routes.post(
        "/install",
        status_code=201,
        response_model=InstalledResponse,
        responses=problem_responses(404, 409, 502),
    )
    async def install_server(body: InstallBody) -> Any:
        """Add a server exactly as it was reviewed. Starts nothing."""
        async with lock:
            with registry_problems():
                review = await _review(runtime, body, [])
                planned = review.approved(body.planDigest)
                paths = runtime.state.configuration.paths
                await runtime.threads.run(write_installation, paths, review.server, planned)
            await runtime.reload_if_changed()
        return json_response({"name": review.server}, 201)

    return routes


def _search(configuration: Configuration, words: list[str]) -> dict[str, Any]:
    notes: list[OfflineNote] = []
    found = open_client(configuration, notes.append).search(words, MAX_RESULTS)
    return {
        "servers": [entry_json(entry) for entry in found.entries],
        "isComplete": found.is_complete,
        "skipped": found.skipped,
        "offline": offline_json(notes),
    }


async def _review(runtime: Runtime, body: PlanBody, notes: list[OfflineNote]) -> InstallationReview:
    await runtime.reload_if_changed()
    state = runtime.state
    packs = await state.catalog.packs() - set(state.servers)
    return await runtime.threads.run(_plan, state.configuration, body, packs, notes)


def _plan(
    configuration: Configuration, body: PlanBody, packs: set[str], notes: list[OfflineNote]
) -> InstallationReview:
    client = open_client(configuration, notes.append)
    entry = read_entry(client, body.name, body.version)
    package = choose_package(entry, body.kind, body.values)
    server = body.pack or entry.pack
    return review_installation(
        server,
        package,
        GivenValues(named=body.values, paths=[path for path in body.paths if path]),
        configuration.secrets.names | stored_secrets(configuration.paths),
        find_name_problem(server, configuration.settings.servers, packs),
    )
