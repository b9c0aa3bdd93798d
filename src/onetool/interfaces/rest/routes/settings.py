"""`/settings`: read and change settings. Only without workspaces, where the operator changes them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from onetool.domain.errors import SettingsError
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.settings import SettingBody, SettingList, SettingResponse
from onetool.interfaces.server_settings.editor import restore_hidden
from onetool.interfaces.server_settings.setting_editor import (
    SettingChanged,
    SettingReader,
    SettingValue,
    hide_secrets,
    hide_texts,
    secret_values,
    set_setting,
    unset_setting,
)
from onetool.runtime.runtime import Runtime
from onetool.settings.documents import SETTINGS_FILE
from onetool.settings.setting_keys import MAX_KEY, SettingInfo, find_setting, list_settings, parse_key

SERVERS = "servers"
SettingKey = Annotated[
    str,
    Path(
        alias="key",
        max_length=MAX_KEY,
        description="Names with dots between them. A name that contains dots is in double quotes.",
        json_schema_extra={"examples": ["log.level"]},
    ),
]
Digest = Annotated[
    str | None, Query(max_length=100, description="`digest` of the value that is removed. Null: not checked.")
]
MayEdit = Callable[[], None]
"""Raises a problem if settings cannot be changed through REST."""


def setting_routes(runtime: Runtime, may_edit: MayEdit) -> APIRouter:
    """Create the settings routes."""
    routes = APIRouter(prefix="/settings", tags=["settings"])
    edits = [Depends(may_edit)]

    @routes.get("", response_model=SettingList, responses=problem_responses())
    async def get_settings() -> Any:
        """List all settings with their values, types and descriptions. Those of servers are at `/servers`."""
        infos = [info for info in list_settings() if info.path[0] != SERVERS]
        values = await _read(runtime, infos)
        body = {
            "settings": [_to_json(value) for value in values],
            "file": str(runtime.state.configuration.paths.config / SETTINGS_FILE),
            "canEdit": _is_allowed(may_edit),
        }
        return json_response(runtime.state.redactor.mask(body))

    @routes.get("/{key}", response_model=SettingResponse, responses=problem_responses(404))
    async def get_setting(key: SettingKey) -> Any:
        """Return a setting, or an entry of a map, such as `profiles.research`."""
        return await _respond(runtime, _find(key))

    @routes.put(
        "/{key}",
        response_model=SettingResponse,
        responses=problem_responses(404, 409, 422),
        dependencies=edits,
    )
    async def put_setting(key: SettingKey, body: SettingBody) -> Any:
        """Set a setting in your file. Nothing is written that OneTool would not start with."""
        info = _find(key)
        (current,) = await _read(runtime, [info])
        hidden, redactor = secret_values(info.path, current.stored), runtime.state.redactor

        def mask(part: Any) -> Any:
            return redactor.mask(hide_texts(part, hidden))

        try:
            value = restore_hidden(body.value, current.stored, mask)
        except SettingsError as error:
            raise ProblemError(422, str(error)) from None
        await _apply(runtime, partial(set_setting, value=value, digest=body.digest), info)
        return await _respond(runtime, info)

    @routes.delete(
        "/{key}",
        response_model=SettingResponse,
        responses=problem_responses(404, 409, 422),
        dependencies=edits,
    )
    async def reset_setting(key: SettingKey, digest: Digest = None) -> Any:
        """Remove a setting from your file, so that its default applies."""
        info = _find(key)
        (current,) = await _read(runtime, [info])
        if not current.digest:
            raise ProblemError(404, f"{info.key} is not set in your settings.")
        await _apply(runtime, partial(unset_setting, digest=digest), info)
        return await _respond(runtime, info)

    return routes


def _is_allowed(may_edit: MayEdit) -> bool:
    try:
        may_edit()
    except ProblemError:
        return False
    return True


def _find(key: str) -> SettingInfo:
    try:
        info = find_setting(parse_key(key))
    except SettingsError as error:
        raise ProblemError(404, str(error)) from None
    if info.path[0] == SERVERS:
        raise ProblemError(404, "The settings of servers are at /servers/NAME/settings.")
    return info


async def _read(runtime: Runtime, infos: Sequence[SettingInfo]) -> list[SettingValue]:
    await runtime.reload_if_changed()
    configuration = runtime.state.configuration

    def read() -> list[SettingValue]:
        reader = SettingReader(configuration)
        return [reader.get(info) for info in infos]

    try:
        return await runtime.threads.run(read)
    except SettingsError as error:
        raise ProblemError(422, str(error)) from None


async def _apply(runtime: Runtime, change: Callable[..., None], info: SettingInfo) -> None:
    """Change the file, and apply the change to this process."""
    try:
        await runtime.threads.run(partial(change, runtime.state.configuration.paths, info.path))
    except SettingChanged as error:
        raise ProblemError(409, str(error)) from None
    except SettingsError as error:
        raise ProblemError(422, str(error)) from None
    await runtime.reload_if_changed()


async def _respond(runtime: Runtime, info: SettingInfo) -> Any:
    (value,) = await _read(runtime, [info])
    return json_response(runtime.state.redactor.mask(_to_json(value)))


def _to_json(setting: SettingValue) -> dict[str, Any]:
    info = setting.info
    return {
        "key": info.key,
        "type": info.type,
        "items": info.items,
        "choices": list(info.choices),
        "nullable": info.is_nullable,
        "minimum": info.minimum,
        "maximum": info.maximum,
        "description": info.doc,
        "restart": info.restart,
        "default": info.default,
        "value": hide_secrets(info.path, setting.value),
        "origin": setting.origin,
        "stored": hide_secrets(info.path, setting.stored),
        "digest": setting.digest,
    }
