"""`/oauth/grants`: the MCP clients that a person has allowed to act for them."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from onetool.domain.identity.client_grant import ClientGrant
from onetool.domain.identity.principal import current_principal
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.clients import ClientGrantList
from onetool.runtime.administration import Administration

GrantId = Annotated[str, Path(max_length=100)]


def client_routes(current: Callable[[], Administration]) -> APIRouter:
    """Create the routes for allowed clients.

    current: returns the stores of the workspace of the request.
    """
    routes = APIRouter(tags=["members"])

    @routes.get("/oauth/grants", response_model=ClientGrantList, responses=problem_responses())
    async def list_client_grants() -> Any:
        """List the MCP clients that you have allowed to act for you in this workspace."""
        found = await current().clients.list(current_principal().id)
        return json_response({"grants": [_grant_json(grant) for grant in found]})

    @routes.delete("/oauth/grants/{id}", status_code=204, responses=problem_responses(404))
    async def revoke_client_grant(id: GrantId) -> Response:
        """Take back what you have allowed a client. Its tokens are not valid any more."""
        if not await current().clients.revoke(id, current_principal().id):
            raise ProblemError(404, f"You have allowed no client with the id {id!r}.")
        return Response(status_code=204)

    return routes


def _grant_json(grant: ClientGrant) -> dict[str, Any]:
    return {
        "id": grant.id,
        "clientId": grant.client_id,
        "clientName": grant.client_name,
        "createdAt": grant.created_at.timestamp(),
        "usedAt": grant.used_at.timestamp(),
        "expiresAt": grant.expires_at.timestamp(),
    }
