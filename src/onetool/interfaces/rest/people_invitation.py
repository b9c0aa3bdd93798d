"""`POST /w/WORKSPACE/invitation`: a person who has logged in becomes a member."""

from collections.abc import Awaitable, Callable

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from onetool.domain.errors import MemberError, StoreUnavailable
from onetool.domain.identity.interface import acting_through
from onetool.domain.identity.person import Person
from onetool.domain.identity.principal import Principal, acting_as

from .auth.login_cookies import LoginCookies
from .auth.middleware import check_cross_origin
from .auth.wrong_tokens import WrongTokens
from .problems import ProblemError, problem

PREFIX = "/w/"

Accept = Callable[[str, str, Person], Awaitable[str | None]]
"""Makes a person a member of a workspace by a secret, and returns the role; None if it is not valid there."""


class PeopleInvitation:
    """Accepts invitations. Host, Origin and size of requests are checked before."""

    def __init__(
        self,
        find_person: Callable[[str], Awaitable[Person | None]],
        accept: Accept,
        cookies: LoginCookies,
        wrong_tokens: WrongTokens | None = None,
    ) -> None:
        """find_person: returns whose session has a secret."""
        self._find_person, self._accept, self._cookies = find_person, accept, cookies
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
        secret = _parse_secret(await request.body())
        slug = request.scope["path"].removeprefix(PREFIX).partition("/")[0]
        try:
            with acting_as(Principal(str(person.id))), acting_through("rest"):
                role = await self._accept(slug, secret, person)
        except MemberError as error:
            raise ProblemError(409, str(error)) from None
        if role is None:
            raise ProblemError(404, "The invitation is not valid: unknown, accepted already, or expired.")
        return JSONResponse({"workspace": slug, "role": role})


def _parse_secret(body: bytes) -> str:
    """Return the secret in a body. The error does not quote it."""
    try:
        data = orjson.loads(body)
    except ValueError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("secret"), str):
        raise ProblemError(400, 'The body must be {"secret": "..."}.')
    return str(data["secret"]).strip()
