"""Who makes a request to a hosted OneTool: the owner of an API key, or a person who has logged in."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp

from onetool.domain.identity.principal import Principal

from .auth.credentials import bearer
from .auth.login_cookies import LoginCookies
from .oauth.server import AuthorizationServer
from .resource_metadata import ResourceMetadata
from .route_rights import is_mcp

JWT_DOTS = 2
COOKIE = "onetool-key"
"""Cookie of the web UI with the API key, which browsers send only to its workspace."""

Authenticate = Callable[[str, str], Awaitable[Principal | None]]
"""Returns the principal of an API key, or of a session, in a workspace; None if it is not valid there."""


class HostedPeople(NamedTuple):
    """How people log in, and how they are recognized afterwards."""

    login: ASGIApp
    """For the paths below `/auth/`."""
    cookies: LoginCookies
    authenticate: Authenticate
    """Returns the principal of a session."""
    end_session: Callable[[str], Awaitable[None]]
    invitation: ASGIApp
    """For `/invitation` of each workspace, where people become members."""
    tokens: Authenticate | None = None
    """Returns the principal of an access token of another issuer. None: none is accepted."""
    metadata: ResourceMetadata | None = None
    """Tells MCP clients where to get a token."""
    authorization: AuthorizationServer | None = None
    """Issues access tokens to MCP clients. None: this server issues none."""
    client_tokens: Authenticate | None = None
    """Returns the principal of such a token."""


class HostedCredentials:
    """Finds the principal of a request."""

    def __init__(self, authenticate: Authenticate, people: HostedPeople | None = None) -> None:
        """people: None if only programs and holders of keys use this server."""
        self._authenticate, self._people = authenticate, people

    def are_given(self, headers: Headers) -> bool:
        """Return whether a request has any credentials, correct or not."""
        return bool(key_of(headers) or self.session_of(headers))

    def session_of(self, headers: Headers) -> str:
        """Return the secret of the session in a cookie; empty if there is none."""
        return "" if self._people is None else self._people.cookies.session(_cookies(headers))

    async def find(self, slug: str, path: str, headers: Headers) -> Principal | None:
        """Return who makes a request; None if the credentials are not valid for a path of the workspace.

        A key in the header stands alone: what a program sends is never replaced by what its browser has. The
        session of a person comes before a key in a cookie, which another site of the domain may have set.

        Raises:
            StoreUnavailable: The credentials cannot be checked.
        """
        session = "" if "authorization" in headers else self.session_of(headers)
        if session and self._people is not None:
            person = await self._people.authenticate(slug, session)
            if person is not None:
                return person
        key, people = key_of(headers), self._people
        if people is not None and people.tokens is not None and _is_jwt(bearer(headers).strip()):
            return await people.tokens(slug, key) if is_mcp(path) else None
        if people is not None and people.client_tokens is not None and is_mcp(path):
            person = await people.client_tokens(slug, bearer(headers).strip())
            if person is not None:
                return person
        return await self._authenticate(slug, key)


def _is_jwt(text: str) -> bool:
    """Return whether a text looks like a signed token. API keys contain no dots."""
    return text.count(".") == JWT_DOTS


def key_of(headers: Headers) -> str:
    """Return the API key in the header, or that in the cookie."""
    return bearer(headers).strip() or _cookies(headers).get(COOKIE, "")


def _cookies(headers: Headers) -> dict[str, str]:
    return cookie_parser(headers.get("cookie", ""))
