"""Routes that add, change and remove MCP servers, and log in to them.

Who may use them can run programs as the user, so they are available only if the operator allows it.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response

from onetool.domain.errors import LoginFailed, SettingsError
from onetool.domain.text.json_text import encode
from onetool.domain.text.suggestions import did_you_mean
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, internal_error_message, problem_responses
from onetool.interfaces.rest.schemas.server_edits import (
    ServerSettingsBody,
    ServerSettingsResponse,
    ServerSwitch,
    StoredSettings,
)
from onetool.interfaces.rest.sse import EVENT_STREAM, EventQueue, EventStream, format_event
from onetool.interfaces.server_settings.editor import (
    ServerChanged,
    read_server,
    remove_server,
    set_enabled,
    write_server,
)
from onetool.runtime.runtime import Runtime
from onetool.settings.documents import SETTINGS_FILE
from onetool.settings.validation import IDENTIFIER

log = logging.getLogger(__name__)

ServerName = Annotated[str, Path(alias="name", max_length=300, json_schema_extra={"examples": ["github"]})]
MayEdit = Callable[[], None]
"""Raises a problem if servers cannot be changed through REST."""


def edit_routes(runtime: Runtime, may_edit: MayEdit) -> APIRouter:
    """Create the routes that change one server."""
    routes = APIRouter(prefix="/servers", tags=["servers"], dependencies=[Depends(may_edit)])

    @routes.get("/{name}/settings", response_model=ServerSettingsResponse, responses=problem_responses(404))
    async def get_server_settings(name: ServerName) -> Any:
        """Return the settings of a server. Secrets are hidden."""
        await runtime.reload_if_changed()
        configuration = runtime.state.configuration
        stored = await runtime.threads.run(read_server, configuration.paths, name)
        if stored is None:
            _check_known(runtime, name)
        return json_response(
            runtime.state.redactor.mask(
                {
                    "name": name,
                    "settings": stored.settings if stored else {},
                    "digest": stored.digest if stored else "",
                    "file": str(configuration.paths.config / SETTINGS_FILE),
                    "canEdit": stored is not None,
                    "reason": "" if stored else _project_reason(name),
                }
            )
        )

    @routes.put("/{name}/settings", response_model=StoredSettings, responses=problem_responses(404, 409, 422))
    async def put_server_settings(name: ServerName, body: ServerSettingsBody) -> Any:
        """Add a server, or replace its settings. Probable secrets are moved to secrets.yaml."""
        await runtime.reload_if_changed()
        await _check_new_name(runtime, name)
        secrets = await apply_edit(
            runtime,
            write_server,
            runtime.state.configuration.paths,
            name,
            body.settings,
            secrets=set(runtime.state.configuration.secrets.names),
            mask=runtime.state.redactor.mask,
            digest=body.digest,
        )
        return json_response({"secrets": secrets})

    @routes.patch("/{name}", status_code=204, responses=problem_responses(404, 409))
    async def switch_server(name: ServerName, body: ServerSwitch) -> None:
        """Enable or disable a server."""
        await _check_stored(runtime, name)
        await apply_edit(runtime, set_enabled, runtime.state.configuration.paths, name, enabled=body.enabled)

    @routes.delete("/{name}", status_code=204, responses=problem_responses(404, 409))
    async def delete_server(name: ServerName) -> None:
        """Remove a server from the settings. Its own directory and its approvals are kept."""
        await _check_stored(runtime, name)
        await apply_edit(runtime, remove_server, runtime.state.configuration.paths, name)

    @routes.post(
        "/{name}/login",
        response_class=Response,
        responses={200: {"content": {EVENT_STREAM: {}}}, **problem_responses(404, 409)},
    )
    async def log_in_to_server(name: ServerName) -> Response:
        """Log in to a remote server. Events: `page` with the URL to open, then `done` or `error`.

        The login page redirects to this machine, so open it in a browser here.
        """
        await runtime.reload_if_changed()
        _check_known(runtime, name)
        if name not in runtime.state.servers:
            raise ProblemError(409, f"Server {name!r} is disabled in the settings.")
        events: EventQueue = asyncio.Queue()
        return EventStream(events, asyncio.create_task(_log_in(runtime, name, events)))

    return routes


async def _log_in(runtime: Runtime, name: str, events: EventQueue) -> None:
    loop = asyncio.get_running_loop()

    def open_page(url: str) -> bool:
        loop.call_soon_threadsafe(events.put_nowait, format_event("page", encode({"url": url})))
        return True

    try:
        await runtime.state.servers[name].login(lambda text: None, open_page)
        event = format_event("done", b"{}")
    except LoginFailed as error:
        event = format_event("error", encode({"detail": runtime.state.redactor.redact(str(error))}))
    except Exception as error:  # the stream must end with an event
        log.exception("login failed")
        event = format_event("error", encode({"detail": internal_error_message(error)}))
    events.put_nowait(event)
    events.put_nowait(None)


async def apply_edit(runtime: Runtime, change: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Run an edit on a thread and apply it to this process."""
    try:
        result = await runtime.threads.run(partial(change, *args, **options))
    except ServerChanged as error:
        raise ProblemError(409, str(error)) from None
    except SettingsError as error:
        raise ProblemError(422, str(error)) from None
    await runtime.reload_if_changed()
    return result


def _check_known(runtime: Runtime, name: str) -> None:
    names = runtime.state.configuration.settings.servers
    if name not in names:
        raise ProblemError(404, f"Server {name!r} not found.{did_you_mean(name, names)}")


async def _check_stored(runtime: Runtime, name: str) -> None:
    await runtime.reload_if_changed()
    if await runtime.threads.run(read_server, runtime.state.configuration.paths, name) is None:
        _check_known(runtime, name)
        raise ProblemError(409, _project_reason(name))


async def _check_new_name(runtime: Runtime, name: str) -> None:
    """Reject names of other packs, and servers that only the project declares."""
    if not re.fullmatch(IDENTIFIER, name):
        raise ProblemError(422, f"{name!r} is not a Python identifier. Use letters, digits and underscores.")
    servers: Mapping[str, Any] = runtime.state.configuration.settings.servers
    if name in servers:
        if await runtime.threads.run(read_server, runtime.state.configuration.paths, name) is None:
            raise ProblemError(409, _project_reason(name))
    elif name in await runtime.state.catalog.packs():
        raise ProblemError(409, f"A pack {name!r} already exists. Choose another name.")


def _project_reason(name: str) -> str:
    return f"Server {name!r} is declared in the settings of the project. Edit it there."
