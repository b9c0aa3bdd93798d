"""`/secrets`: a member's own secrets, and those of the workspace. Values are never returned."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response

from onetool.domain.identity.principal import current_principal
from onetool.domain.identity.roles import Right
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.request_rights import request_may
from onetool.interfaces.rest.schemas.secrets import SecretBody, SecretList, SecretResponse
from onetool.runtime.administration import Administration

ME, WORKSPACE = "me", "workspace"
SecretName = Annotated[str, Path(max_length=100, pattern="^[A-Za-z_][A-Za-z0-9_]*$")]


def secret_routes(current: Callable[[], Administration]) -> APIRouter:
    """Create the routes for secrets.

    current: returns the stores of the workspace of the request.
    """
    routes = APIRouter(tags=["members"])

    @routes.get("/secrets", response_model=SecretList, responses=problem_responses())
    async def list_secrets() -> Any:
        """List the names of your secrets and of those of the workspace."""
        own = await current().own_secrets.of(current_principal().id)
        shared = await current().secrets.hosts()
        found = [_secret_json(secret.name, ME, secret.hosts) for secret in own.values()]
        found += [_secret_json(name, WORKSPACE, hosts) for name, hosts in shared.items()]
        return json_response({"secrets": found})

    @routes.put("/secrets/{name}", response_model=SecretResponse, responses=problem_responses())
    async def put_secret(name: SecretName, body: SecretBody) -> Any:
        """Create or replace a secret. Your own is used in your calls in place of the workspace's."""
        if body.of == WORKSPACE:
            _check_makes()
            await current().secrets.put(name, body.value, body.hosts)
        elif not body.hosts:
            message = (
                "Name the hosts to which your secret may be sent: others could make tools that ask for it."
            )
            raise ProblemError(400, message)
        else:
            await current().own_secrets.put(current_principal().id, name, body.value, body.hosts)
        return json_response(_secret_json(name, body.of, body.hosts))

    @routes.delete("/secrets/{name}", status_code=204, responses=problem_responses(404))
    async def delete_secret(
        name: SecretName, of: Annotated[Literal["me", "workspace"], Query()] = "me"
    ) -> Response:
        """Delete a secret."""
        if of == WORKSPACE:
            _check_makes()
            is_deleted = await current().secrets.delete(name)
        else:
            is_deleted = await current().own_secrets.delete(current_principal().id, name)
        if not is_deleted:
            raise ProblemError(404, f"There is no secret {name!r}.")
        return Response(status_code=204)

    return routes


def _check_makes() -> None:
    if not request_may(Right.MAKE):
        raise ProblemError(403, "Secrets of the workspace are for the roles owner and maker.")


def _secret_json(name: str, of: str, hosts: Sequence[str] | None) -> dict[str, Any]:
    return {"name": name, "of": of, "hosts": None if hosts is None else list(hosts)}
