"""`POST /w/WORKSPACE/invitation`: a person who has logged in becomes a member, or sees the role before."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from onetool.domain.errors import MemberError, StoreUnavailable
from onetool.domain.identity.interface import acting_through
from onetool.domain.identity.person import Person
from onetool.domain.identity.principal import Principal, acting_as
from onetool.domain.policy.invitation import Invitation

from .auth.login_cookies import LoginCookies
from .auth.middleware import check_cross_origin
from .auth.wrong_tokens import WrongTokens
from .problems import ProblemError, problem

PREFIX = "/w/"


class Invitations(Protocol):
    """The invitations of all workspaces."""

    async def find(self, slug: str, secret: str) -> Invitation | None:
        """Return an invitation, also one that was accepted or has expired; None if there is none."""
        ...

    async def accept(self, slug: str, secret: str, person: Person) -> str | None:
        """Make a person a member, and return the role; None if the invitation is not valid."""
        ...


class PeopleInvitation:
    """Accepts invitations. Host, Origin and size of requests are checked before."""

    def __init__(
        self,
        find_person: Callable[[str], Awaitable[Person | None]],
        invitations: Invitations,
        cookies: LoginCookies,
        wrong_tokens: WrongTokens | None = None,
    ) -> None:
        """find_person: returns whose session has a secret."""
        self._find_person, self._invitations, self._cookies = find_person, invitations, cookies
        self._wrong_tokens = wrong_tokens or WrongTokens()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except ProblemError as error:
            if error.status in (401, 404) and request.cookies:
                await self._wrong_tokens.delay(scope, receive)
            response = problem(error.status, str(error), headers=error.headers)
        except StoreUnavailable:
            response = problem(503, "The database is not available. Try again.")
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        if request.method != "POST":
            raise ProblemError(405, f"{request.method} is not allowed here.", headers={"Allow": "POST"})
        if rejection := check_cross_origin(request.method, request.headers):
            raise ProblemError(*rejection)
        session = self._cookies.session(request.cookies)
        person = await self._find_person(session) if session else None
        if person is None:
            raise ProblemError(401, "Log in at /auth/login first.")
        secret, is_accepting = _parse(await request.body())
        slug = request.scope["path"].removeprefix(PREFIX).partition("/")[0]
        role = (
            await self._accept(slug, secret, person) if is_accepting else await self._open_role(slug, secret)
        )
        return JSONResponse({"workspace": slug, "role": role})

    async def _accept(self, slug: str, secret: str, person: Person) -> str:
        try:
            with acting_as(Principal(str(person.id))), acting_through("rest"):
                role = await self._invitations.accept(slug, secret, person)
        except MemberError as error:
            raise ProblemError(409, str(error)) from None
        if role is None:
            raise ProblemError(404, "The invitation is not valid: unknown, accepted already, or expired.")
        return role

    async def _open_role(self, slug: str, secret: str) -> str:
        """Return the role of an invitation that can be accepted. Only who has the secret learns why not."""
        found = await self._invitations.find(slug, secret)
        if found is None:
            detail = "There is no such invitation: it was revoked or has expired, or the link is incomplete."
            raise ProblemError(404, detail)
        if found.accepted_at is not None:
            raise ProblemError(409, "The invitation was accepted already. Ask for a new one.")
        if found.expires_at <= datetime.now(UTC):
            raise ProblemError(409, "The invitation has expired. Ask for a new one.")
        return found.role


def _parse(body: bytes) -> tuple[str, bool]:
    """Return the secret in a body, and whether to accept the invitation. The error does not quote it."""
    try:
        data = orjson.loads(body)
    except ValueError:
        data = None
    fields = data if isinstance(data, dict) else {}
    secret, is_accepting = fields.get("secret"), fields.get("accept", True)
    if not isinstance(secret, str) or not isinstance(is_accepting, bool):
        raise ProblemError(
            400, 'The body must be {"secret": "..."}, or with "accept": false to see the role.'
        )
    return secret.strip(), is_accepting
