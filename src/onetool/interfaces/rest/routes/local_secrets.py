"""`/secrets` and the keys of chat model providers, without workspaces. Values are never returned."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Response

from onetool.domain.errors import SettingsError
from onetool.domain.text.suggestions import did_you_mean
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.secrets import SecretBody, SecretList, SecretResponse
from onetool.interfaces.rest.schemas.settings import DefaultProviderBody, ProviderKeyBody
from onetool.interfaces.server_settings.settings_file import (
    edit_secrets,
    secrets_place,
    set_default_provider,
)
from onetool.runtime.runtime import Runtime
from onetool.settings.documents import SECRETS_FILE
from onetool.settings.paths import Paths
from onetool.settings.provider_status import check_provider, key_secret_name
from onetool.settings.secrets import NAME, SecretEntry, read_entries
from onetool.settings.yaml_editor import Kept, SecretHosts

from .settings import MayEdit

SecretName = Annotated[
    str,
    Path(alias="name", max_length=100, pattern=f"^{NAME.pattern}$", json_schema_extra={"examples": ["KEY"]}),
]
ProviderName = Annotated[str, Path(alias="name", max_length=300, json_schema_extra={"examples": ["openai"]})]


def local_secret_routes(runtime: Runtime, may_edit: MayEdit) -> APIRouter:
    """Create the routes for the secrets of a single user."""
    routes = APIRouter(prefix="/secrets", tags=["settings"], dependencies=[Depends(may_edit)])

    @routes.get("", response_model=SecretList, responses=problem_responses())
    async def list_secrets() -> Any:
        """List the names of secrets, where their values are, and the hosts they may be sent to."""
        entries = await _entries(runtime)
        backend = runtime.state.configuration.settings.secrets.backend
        return json_response({"secrets": [_to_json(entry, backend) for entry in entries]})

    @routes.put("/{name}", response_model=SecretResponse, responses=problem_responses(422))
    async def put_secret(name: SecretName, body: SecretBody) -> Any:
        """Create or replace a secret."""
        if body.of != "me":
            raise ProblemError(400, "There is no workspace here. Omit `of`.")
        hosts = body.hosts if "hosts" in body.model_fields_set else Kept.HOSTS
        await _store(runtime, name, body.value, hosts)
        entries = {entry.name: entry for entry in await _entries(runtime)}
        return json_response(_to_json(entries[name], runtime.state.configuration.settings.secrets.backend))

    @routes.delete("/{name}", status_code=204, responses=problem_responses(404, 422))
    async def delete_secret(name: SecretName) -> Response:
        """Delete a secret."""
        names = [entry.name for entry in await _entries(runtime)]
        if name not in names:
            raise ProblemError(404, f"There is no secret {name!r}.{did_you_mean(name, names)}")
        await _edit(runtime, partial(edit_secrets, values={name: None}))
        return Response(status_code=204)

    return routes


def provider_key_routes(runtime: Runtime, may_edit: MayEdit) -> APIRouter:
    """Create the routes for API keys of providers, and for the default provider."""
    routes = APIRouter(prefix="/providers", tags=["settings"], dependencies=[Depends(may_edit)])

    @routes.put("/default", status_code=204, responses=problem_responses(422))
    async def put_default_provider(body: DefaultProviderBody) -> Response:
        """Set the default provider of chat models."""
        await runtime.reload_if_changed()
        with _problems():
            check_provider(runtime.state.configuration.settings, body.name)
        await _edit(runtime, partial(set_default_provider, provider=body.name))
        return Response(status_code=204)

    @routes.put("/{name}/key", status_code=204, responses=problem_responses(422))
    async def put_provider_key(name: ProviderName, body: ProviderKeyBody) -> Response:
        """Store the API key of a provider, as a secret. It can be sent to the same hosts as before."""
        await _store(runtime, await _key_name(runtime, name), body.key, Kept.HOSTS)
        return Response(status_code=204)

    @routes.delete("/{name}/key", status_code=204, responses=problem_responses(404, 422))
    async def delete_provider_key(name: ProviderName) -> Response:
        """Delete the stored API key of a provider. One in the environment stays."""
        secret = await _key_name(runtime, name)
        if secret not in {entry.name for entry in await _entries(runtime)}:
            raise ProblemError(404, f"No key is stored for {name!r}.")
        await _edit(runtime, partial(edit_secrets, values={secret: None}))
        return Response(status_code=204)

    return routes


@contextmanager
def _problems() -> Iterator[None]:
    """Turn settings errors into problems."""
    try:
        yield
    except SettingsError as error:
        raise ProblemError(422, str(error)) from None


async def _key_name(runtime: Runtime, provider: str) -> str:
    await runtime.reload_if_changed()
    with _problems():
        return key_secret_name(runtime.state.configuration.settings, provider)


async def _entries(runtime: Runtime) -> tuple[SecretEntry, ...]:
    await runtime.reload_if_changed()
    with _problems():
        return await runtime.threads.run(
            read_entries, runtime.state.configuration.paths.config / SECRETS_FILE
        )


async def _store(runtime: Runtime, name: str, value: str, hosts: SecretHosts) -> None:
    def store(paths: Paths) -> None:
        secrets_place(paths, name)
        edit_secrets(paths, {name: value}, hosts)

    await _edit(runtime, store)


async def _edit(runtime: Runtime, change: Callable[..., None]) -> None:
    with _problems():
        await runtime.threads.run(partial(change, runtime.state.configuration.paths))
    await runtime.reload_if_changed()


def _to_json(entry: SecretEntry, backend: str) -> dict[str, Any]:
    elsewhere = "missing" if backend == "file" else backend
    source = "file" if entry.value is not None else elsewhere
    return {
        "name": entry.name,
        "of": "me",
        "hosts": None if entry.hosts is None else list(entry.hosts),
        "source": "environment" if entry.variable is not None else source,
    }
