"""`/members`, `/grants`, `/keys` and `/me`: who may do what in a workspace."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from onetool.domain.calls.effect import Effect
from onetool.domain.errors import MemberError
from onetool.domain.identity.api_key import ApiKey
from onetool.domain.identity.principal import current_principal
from onetool.domain.identity.roles import Right, Role
from onetool.domain.policy.member import Member, MemberKind, StoredGrant, check_patterns
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.request_rights import request_may, request_rights
from onetool.interfaces.rest.schemas.members import (
    GrantBody,
    GrantList,
    GrantResponse,
    KeyBody,
    KeyList,
    Kind,
    MemberBody,
    MemberList,
    MemberResponse,
    MeResponse,
    NewKeyResponse,
)
from onetool.runtime.administration import Administration

MemberId = Annotated[str, Path(max_length=300, description="Of a person or group; the name of a service.")]
KeyId = Annotated[str, Path(max_length=100)]


def member_routes(current: Callable[[], Administration]) -> APIRouter:
    """Create the routes for members.

    current: returns the stores of the workspace of the request.
    """
    routes = APIRouter(tags=["members"])

    @routes.get("/me", response_model=MeResponse, responses=problem_responses())
    async def get_me() -> Any:
        """Return who makes the request, and what they may do."""
        principal, rights = current_principal(), request_rights()
        roles = sorted({str(item.role) for item in rights.memberships}) if rights else ["owner"]
        body = {
            "principal": principal.id,
            "roles": roles,
            "rights": [str(right) for right in Right if request_may(right)],
            "patterns": list(principal.patterns),
        }
        return json_response(body)

    @routes.get("/members", response_model=MemberList, responses=problem_responses())
    async def list_members() -> Any:
        """List the members."""
        found = await current().members.list()
        return json_response({"members": [_member_json(member) for member in found]})

    @routes.put("/members/{kind}/{id}", response_model=MemberResponse, responses=problem_responses(404))
    async def put_member(kind: Kind, id: MemberId, body: MemberBody) -> Any:
        """Add a member, or change its role. The last owner stays one."""
        added_by = current_principal().id
        member = Member(MemberKind(kind), id, Role(body.role), tuple(body.patterns), added_by)
        await _refusing(current().members.put(member))
        stored = await current().members.list()
        found = next((item for item in stored if (item.kind, item.id) == (member.kind, id)), member)
        return json_response(_member_json(found))

    @routes.delete("/members/{kind}/{id}", status_code=204, responses=problem_responses(404))
    async def remove_member(kind: Kind, id: MemberId) -> Response:
        """Remove a member. Its grants are removed, and its API keys are revoked."""
        if not await _refusing(current().members.remove(MemberKind(kind), id)):
            raise ProblemError(404, f"The {kind} {id[:100]!r} is not a member of the workspace.")
        return Response(status_code=204)

    return routes


def grant_routes(current: Callable[[], Administration]) -> APIRouter:
    """Create the routes for grants.

    current: returns the stores of the workspace of the request.
    """
    routes = APIRouter(tags=["members"])

    @routes.get("/grants", response_model=GrantList, responses=problem_responses())
    async def list_grants() -> Any:
        """List the grants."""
        found = await current().members.grants()
        return json_response({"grants": [_grant_json(grant) for grant in found]})

    @routes.post("/grants", status_code=201, response_model=GrantResponse, responses=problem_responses())
    async def put_grant(body: GrantBody) -> Any:
        """Add a grant, or replace the one of the member with this pattern."""
        effect, added_by = Effect[body.effect.upper()], current_principal().id
        adding = current().members.put_grant(
            MemberKind(body.kind), body.member, effect, body.pattern, added_by
        )
        return json_response(_grant_json(await _refusing(adding)), 201)

    @routes.delete("/grants/{id}", status_code=204, responses=problem_responses(404))
    async def remove_grant(id: KeyId) -> Response:
        """Remove a grant."""
        if not await current().members.remove_grant(id):
            raise ProblemError(404, f"There is no grant {id!r}.")
        return Response(status_code=204)

    return routes


def key_routes(current: Callable[[], Administration]) -> APIRouter:
    """Create the routes for API keys.

    current: returns the stores of the workspace of the request.
    """
    routes = APIRouter(tags=["members"])

    @routes.get("/keys", response_model=KeyList, responses=problem_responses())
    async def list_keys(
        everyone: Annotated[bool, Query(description="Those of all members, for owners.")] = False,
    ) -> Any:
        """List your API keys, or those of all members."""
        if everyone:
            _check_manages("The API keys of other members")
        found = await current().keys.list(None if everyone else current_principal().id)
        return json_response({"keys": [_key_json(key) for key in found]})

    @routes.post("/keys", status_code=201, response_model=NewKeyResponse, responses=problem_responses(404))
    async def create_key(body: KeyBody) -> Any:
        """Create an API key for yourself, or for a service. It never allows more than its owner may do."""
        owner = current_principal().id
        if body.service is not None:
            _check_manages("API keys of services")
            owner = await _service(current(), body.service)
        try:
            check_patterns(body.patterns)
        except MemberError as error:
            raise ProblemError(400, str(error)) from None
        creating = current().keys.create(owner, body.name, timedelta(days=body.days), body.patterns)
        created = await _refusing(creating)
        return json_response({**_key_json(created.key), "key": created.text}, 201)

    @routes.delete("/keys/{id}", status_code=204, responses=problem_responses(404))
    async def revoke_key(id: KeyId) -> Response:
        """Revoke an API key of yours, or of another member if you are an owner."""
        owner = None if request_may(Right.MANAGE) else current_principal().id
        if not await current().keys.revoke(id, owner):
            raise ProblemError(404, f"There is no valid API key {id!r} of yours.")
        return Response(status_code=204)

    return routes


def _check_manages(what: str) -> None:
    if not request_may(Right.MANAGE):
        raise ProblemError(403, f"{what} are for the role owner.")


async def _service(administration: Administration, name: str) -> str:
    """Return the name of a service that is a member."""
    names = {member.id for member in await administration.members.list() if member.kind is MemberKind.SERVICE}
    if name not in names:
        raise ProblemError(404, f"There is no service {name[:100]!r}. Add it as a member first.")
    return name


async def _refusing(change: Any) -> Any:
    """Await a change, and respond with why it is refused."""
    try:
        return await change
    except MemberError as error:
        raise ProblemError(400, str(error)) from None


def _member_json(member: Member) -> dict[str, Any]:
    return {
        "kind": member.kind,
        "id": member.id,
        "name": member.name,
        "email": member.email,
        "role": member.role,
        "patterns": list(member.patterns),
        "addedBy": member.added_by,
        "addedAt": _seconds(member.added_at),
    }


def _grant_json(grant: StoredGrant) -> dict[str, Any]:
    return {
        "id": grant.id,
        "kind": grant.kind,
        "member": grant.member,
        "effect": str(grant.effect),
        "pattern": grant.pattern,
        "addedBy": grant.added_by,
        "addedAt": _seconds(grant.added_at),
    }


def _key_json(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "owner": key.owner,
        "name": key.name,
        "prefix": key.prefix,
        "patterns": list(key.patterns),
        "createdAt": _seconds(key.created_at),
        "expiresAt": _seconds(key.expires_at),
        "revokedAt": _seconds(key.revoked_at),
    }


def _seconds(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()
