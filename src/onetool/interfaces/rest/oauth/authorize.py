"""`/oauth/authorize`: a client sends a browser here, and a person allows it to act for them, or not."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple, Protocol
from urllib.parse import quote, urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from onetool.domain.errors import MemberError
from onetool.domain.identity.client_grant import AllowedClient
from onetool.domain.identity.interface import acting_through
from onetool.domain.identity.oauth_client import InvalidClient, OAuthClient
from onetool.domain.identity.person import Person, PersonWorkspace
from onetool.domain.identity.principal import Principal, acting_as
from onetool.interfaces.rest.auth.login_cookies import LoginCookies
from onetool.interfaces.rest.auth.wrong_tokens import WrongTokens
from onetool.interfaces.rest.pages import HEADERS, page, unique_parameters
from onetool.interfaces.rest.people_login import MAX_NEXT_CHARS
from onetool.interfaces.rest.problems import ProblemError

from .consent import AuthorizationRequest, Consents, consent_page, form_target

AUTHORIZE_PATH = "/oauth/authorize"
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
"""A SHA-256 in base64url."""


class PeopleSessions(Protocol):
    """The people who have logged in."""

    async def find(self, secret: str) -> Person | None:
        """Return whose session has a secret; None if there is none."""
        ...

    async def workspaces_of(self, person: UUID) -> Sequence[PersonWorkspace]:
        """Return the workspaces of a person."""
        ...


FindClient = Callable[[str, str], Awaitable[OAuthClient]]
"""Returns the client with an id, in a workspace. Raises InvalidClient."""
Allow = Callable[[str, AllowedClient], Awaitable[str | None]]
"""Lets a client act for a person in a workspace, and returns a code; None if there is no such workspace."""


class _Refused(Exception):
    """What a client asks for is refused, and it is told so: its redirect URI is verified."""

    def __init__(self, uri: str, state: str, error: str, description: str) -> None:
        super().__init__(description)
        self.uri, self.state, self.error = uri, state, error


class _Asked(NamedTuple):
    """A person who is asked, and where."""

    session: str
    person: Person
    workspace: PersonWorkspace


class Authorize:
    """Asks people whether clients may act for them."""

    def __init__(
        self,
        *,
        public_url: str,
        find_client: FindClient,
        allow: Allow,
        sessions: PeopleSessions,
        cookies: LoginCookies,
        consents: Consents,
        wrong_tokens: WrongTokens,
    ) -> None:
        self._public_url, self._find_client, self._allow = public_url, find_client, allow
        self._sessions, self._cookies, self._consents = sessions, cookies, consents
        self._wrong_tokens = wrong_tokens

    async def respond(self, request: Request, slug: str) -> Response:
        """Respond to the browser of a person: with a page, or by sending it back to the client."""
        target = ""
        try:
            if request.method == "GET":
                response, target = await self._ask(request, slug)
            elif request.method == "POST":
                response = await self._answer(request, slug)
            else:
                raise ProblemError(405, f"{request.method} is not allowed.", headers={"Allow": "GET, POST"})
        except _Refused as error:
            parameters = {"error": error.error, "error_description": str(error)}
            response = self._send_back(slug, error.uri, error.state, parameters)
        except InvalidClient as error:
            response = _error_page(400, str(error))
        except ProblemError as error:
            response = _error_page(error.status, str(error))
            response.headers.update(error.headers or {})
        response.headers.update(HEADERS)
        # Without a referrer, browsers would not say from which page the form comes.
        response.headers["Referrer-Policy"] = "same-origin"
        response.headers["X-Frame-Options"] = "DENY"
        response.headers["Content-Security-Policy"] += f"; form-action 'self' {target}".rstrip()
        return response

    async def _ask(self, request: Request, slug: str) -> tuple[Response, str]:
        """Return the page with the question, and where its form may lead in the end."""
        parameters = unique_parameters(request.scope.get("query_string", b""))
        asked = await self._asked(request, slug)
        if asked is None:
            return _log_in(slug, parameters), ""
        client, wanted = await self._check(slug, parameters)
        question = self._consents.ask(slug, asked.session, wanted)
        response = consent_page(question, client, wanted, asked.person, asked.workspace)
        return response, form_target(wanted.redirect_uri)

    async def _answer(self, request: Request, slug: str) -> Response:
        """Send the browser back to the client, with a code if the person has agreed."""
        if "origin" not in request.headers or request.headers.get("sec-fetch-site") not in (
            None,
            "same-origin",
        ):
            raise ProblemError(403, "Only the page with the question may send the answer.")
        form = unique_parameters(await request.body())
        asked = await self._asked(request, slug)
        if asked is None:
            raise ProblemError(401, "You are not logged in any more. Let the client ask again.")
        id, wanted = self._consents.open(slug, asked.session, form.get("consent", ""))
        if form.get("decision") != "allow":
            raise _Refused(wanted.redirect_uri, wanted.state, "access_denied", "The person has said no.")
        person, uri = asked.person.id, wanted.redirect_uri
        allowed = AllowedClient(id, person, wanted.client_id, wanted.client_name, uri, wanted.challenge)
        try:
            with acting_as(Principal(str(person))), acting_through("rest"):
                code = await self._allow(slug, allowed)
        except MemberError as error:
            raise ProblemError(409, str(error)) from None
        if code is None:
            raise _no_member()
        return self._send_back(slug, uri, wanted.state, {"code": code})

    async def _asked(self, request: Request, slug: str) -> _Asked | None:
        """Return who is asked; None if no one has logged in.

        Raises:
            ProblemError: The person is not a member of the workspace.
        """
        session = self._cookies.session(request.cookies)
        person = await self._sessions.find(session) if session else None
        if person is None:
            if session:
                await self._wrong_tokens.delay(request.scope, request.receive)
            return None
        for workspace in await self._sessions.workspaces_of(person.id):
            if workspace.slug == slug:
                return _Asked(session, person, workspace)
        raise _no_member()

    async def _check(
        self, slug: str, parameters: Mapping[str, str]
    ) -> tuple[OAuthClient, AuthorizationRequest]:
        """Return a request that may be granted. Nothing is sent to a redirect URI that is not verified."""
        client = await self._find_client(slug, parameters.get("client_id", ""))
        uri, state = parameters.get("redirect_uri", ""), parameters.get("state", "")
        client.check_redirect_uri(uri)
        resource = f"{self._public_url}/w/{slug}/mcp"
        challenge = parameters.get("code_challenge", "")
        if parameters.get("response_type") != "code":
            raise _Refused(uri, state, "unsupported_response_type", "response_type must be code.")
        if CHALLENGE.fullmatch(challenge) is None or parameters.get("code_challenge_method") != "S256":
            description = "code_challenge with code_challenge_method S256 is required (PKCE)."
            raise _Refused(uri, state, "invalid_request", description)
        if parameters.get("resource") != resource:
            raise _Refused(uri, state, "invalid_target", f"resource must be {resource}.")
        return client, AuthorizationRequest(client.id, client.name, uri, state, challenge)

    def _send_back(self, slug: str, uri: str, state: str, parameters: Mapping[str, str]) -> Response:
        """Send the browser to a verified redirect URI."""
        own = {"state": state} if state else {}
        query = urlencode({**parameters, **own, "iss": f"{self._public_url}/w/{slug}"})
        response = RedirectResponse("/", 303)
        response.headers["location"] = f"{uri}{'&' if '?' in uri else '?'}{query}"
        return response


def _log_in(slug: str, parameters: Mapping[str, str]) -> Response:
    """Send the browser to the login, and back here afterwards."""
    path = f"/w/{slug}{AUTHORIZE_PATH}?{urlencode(parameters)}"
    if len(path) > MAX_NEXT_CHARS:
        raise ProblemError(414, f"The request of the client is longer than {MAX_NEXT_CHARS} characters.")
    return RedirectResponse(f"/auth/login?next={quote(path, safe='')}", 303)


def _no_member() -> ProblemError:
    return ProblemError(404, "There is no such workspace, or you are not a member of it.")


def _error_page(status: int, detail: str) -> Response:
    return page(status, "The client cannot be allowed", f"<p>{escape(detail)}</p>")
