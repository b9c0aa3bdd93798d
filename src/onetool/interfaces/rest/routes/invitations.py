"""`/invitations`: how owners of a workspace invite people."""

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from onetool.domain.errors import MemberError
from onetool.domain.identity.principal import current_principal
from onetool.domain.identity.roles import Role
from onetool.domain.policy.invitation import Invitation
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.invitations import (
    InvitationBody,
    InvitationList,
    NewInvitationResponse,
)
from onetool.runtime.administration import Administration

InvitationId = Annotated[str, Path(max_length=100)]


def invitation_routes(current: Callable[[], Administration]) -> APIRouter:
    """Create the routes for invitations.

    current: returns the stores of the workspace of the request.
    """
    routes = APIRouter(tags=["members"])

    @routes.get("/invitations", response_model=InvitationList, responses=problem_responses())
    async def list_invitations() -> Any:
        """List the invitations."""
        found = await current().invitations.list()
        return json_response({"invitations": [_invitation_json(item) for item in found]})

    @routes.post(
        "/invitations", status_code=201, response_model=NewInvitationResponse, responses=problem_responses()
    )
    async def create_invitation(body: InvitationBody) -> Any:
        """Invite one person. With the secret, they become a member once they have logged in."""
        lifetime, owner = timedelta(days=body.days), current_principal().id
        try:
            created = await current().invitations.create(
                Role(body.role), body.patterns, body.note, lifetime, owner
            )
        except MemberError as error:
            raise ProblemError(400, str(error)) from None
        return json_response({**_invitation_json(created.invitation), "secret": created.secret}, 201)

    @routes.delete("/invitations/{id}", status_code=204, responses=problem_responses(404))
    async def revoke_invitation(id: InvitationId) -> Response:
        """Revoke an invitation that no one has accepted."""
        if not await current().invitations.revoke(id):
            raise ProblemError(404, f"There is no open invitation {id!r}.")
        return Response(status_code=204)

    return routes


def _invitation_json(invitation: Invitation) -> dict[str, Any]:
    accepted_at = invitation.accepted_at
    return {
        "id": invitation.id,
        "role": invitation.role,
        "patterns": list(invitation.patterns),
        "note": invitation.note,
        "createdBy": invitation.created_by,
        "createdAt": invitation.created_at.timestamp(),
        "expiresAt": invitation.expires_at.timestamp(),
        "acceptedBy": invitation.accepted_by,
        "acceptedAt": None if accepted_at is None else accepted_at.timestamp(),
    }
