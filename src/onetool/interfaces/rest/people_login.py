"""Login of people of a hosted OneTool at an OpenID provider: `/auth/login`, `/auth/callback` and others."""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from typing import Protocol
from urllib.parse import quote
from uuid import UUID

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from onetool.domain.errors import (
    PersonDisabled,
    SignInFailed,
    SignInUnavailable,
    StoreUnavailable,
)
from onetool.domain.identity.person import Identity, LoginAttempt, LoginStart, Person, PersonWorkspace

from .auth.login_cookies import SESSION_S, BegunLogin, LoginCookies
from .auth.middleware import check_cross_origin
from .auth.wrong_tokens import WrongTokens
from .pages import HEADERS, page, unique_parameters
from .problems import ProblemError, problem

log = logging.getLogger(__name__)

AUTH_PATH = "/auth/"
CALLBACK_PATH = "/auth/callback"
MAX_NEXT_CHARS = 2_000
"""Characters of a path to go to after a login: a browser keeps it in a cookie."""
NEXT = re.compile(rf"/w/[!-\[\]-~]{{0,{MAX_NEXT_CHARS}}}")
"""Paths to go to after a login: ASCII without spaces, control characters and backslashes."""


class IdentityProvider(Protocol):
    """Where people log in."""

    async def begin(self) -> LoginStart:
        """Return where to send a browser.

        Raises:
            SignInUnavailable: The provider is away.
        """
        ...

    async def finish(self, attempt: LoginAttempt, response: Mapping[str, str]) -> Identity:
        """Return who has logged in.

        Raises:
            SignInFailed: No one, or the response belongs to another login.
        """
        ...


class LoginSessions(Protocol):
    """The people who have logged in."""

    async def begin(self, identity: Identity, lifetime_s: float) -> tuple[UUID, str]:
        """Return the person with an identity, and the secret of a new session.

        Raises:
            PersonDisabled: The operator has disabled the person.
            StoreUnavailable: The database is away.
        """
        ...

    async def find(self, secret: str) -> Person | None:
        """Return whose session has a secret; None if there is none.

        Raises:
            StoreUnavailable: The database is away.
        """
        ...

    async def end(self, secret: str) -> None:
        """End a session, if there is one."""
        ...

    async def workspaces_of(self, person: UUID) -> Sequence[PersonWorkspace]:
        """Return the workspaces of a person."""
        ...


class PeopleLogin:
    """Serves the paths below `/auth/`. Host and size of requests are checked before."""

    def __init__(
        self,
        provider: IdentityProvider,
        sessions: LoginSessions,
        cookies: LoginCookies,
        *,
        wrong_tokens: WrongTokens | None = None,
    ) -> None:
        self._provider, self._sessions, self._cookies = provider, sessions, cookies
        self._wrong_tokens = wrong_tokens or WrongTokens()
        self._routes: Mapping[str, tuple[str, Callable[[Request], Awaitable[Response]]]] = {
            "/auth/login": ("GET", self._login),
            CALLBACK_PATH: ("GET", self._callback),
            "/auth/logout": ("POST", self._logout),
            "/auth/session": ("GET", self._session),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request."""
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except ProblemError as error:
            response = _failure(request, error.status, str(error), error.headers)
        except SignInFailed as error:
            status = _status(error)
            log.info("login failed: %s", error)
            if not isinstance(error, SignInUnavailable):
                await self._wrong_tokens.delay(scope, receive)
            response = _failure(request, status, str(error))
        except StoreUnavailable:
            response = _failure(request, 503, "The database is not available. Try again.")
        if scope["path"] == CALLBACK_PATH:
            self._cookies.delete_attempt(response)
        response.headers.update(HEADERS)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        method, route = self._routes.get(request.scope["path"], ("", None))
        if route is None:
            raise ProblemError(404, f"Path {request.scope['path'][:200]} not found.")
        if request.method != method:
            raise ProblemError(405, f"{request.method} is not allowed here.", headers={"Allow": method})
        return await route(request)

    async def _login(self, request: Request) -> Response:
        """Send the browser to the provider."""
        next = _check_next(_parameters(request).get("next", ""))
        start = await self._provider.begin()
        response = RedirectResponse(start.url, 303)
        response.headers["location"] = start.url  # as it is: the provider compares parts of it
        self._cookies.set_attempt(response, BegunLogin(start.attempt, next))
        return response

    async def _callback(self, request: Request) -> Response:
        """Begin a session, when the provider sends the browser back."""
        begun = self._cookies.attempt(request.cookies)
        identity = await self._provider.finish(begun.attempt, _parameters(request))
        person, secret = await self._sessions.begin(identity, SESSION_S)
        if previous := self._cookies.session(request.cookies):
            await self._sessions.end(previous)
        response = await self._after_login(person, begun.next)
        self._cookies.set_session(response, secret)
        return response

    async def _after_login(self, person: UUID, next: str) -> Response:
        if next:
            return RedirectResponse(next, 303)
        paths = {f"/w/{each.slug}/": each.name for each in await self._sessions.workspaces_of(person)}
        if len(paths) == 1:
            return RedirectResponse(min(paths), 303)
        links = "".join(
            f'<li><a href="{quote(path)}">{escape(name)}</a></li>' for path, name in paths.items()
        )
        text = f"<p>Your workspaces:</p><ul>{links}</ul>" if paths else "<p>You have no workspace yet.</p>"
        return _page(200, "You are logged in", text)

    async def _logout(self, request: Request) -> Response:
        _check_origin(request)
        if secret := self._cookies.session(request.cookies):
            await self._sessions.end(secret)
        response = Response(status_code=204)
        self._cookies.delete_session(response)
        return response

    async def _session(self, request: Request) -> Response:
        """Return who has logged in."""
        _check_origin(request)
        secret = self._cookies.session(request.cookies)
        person = await self._sessions.find(secret) if secret else None
        if person is None:
            if secret:
                await self._wrong_tokens.delay(request.scope, request.receive)
            raise ProblemError(401, "No one is logged in. Log in at /auth/login.")
        workspaces = await self._sessions.workspaces_of(person.id)
        return JSONResponse(
            {
                "person": {"id": str(person.id), "name": person.name, "email": person.email},
                "workspaces": [
                    {"slug": each.slug, "name": each.name, "roles": list(each.roles)} for each in workspaces
                ],
            }
        )


def _check_next(path: str) -> str:
    """Return a path of a workspace.

    Raises:
        ProblemError: It is something else, perhaps a URL of another server.
    """
    if path and (NEXT.fullmatch(path) is None or "//" in path):
        raise ProblemError(400, f"{path[:100]!r} is no path to go to after the login. Example: /w/team-a/")
    return path


def _parameters(request: Request) -> dict[str, str]:
    return unique_parameters(request.scope.get("query_string", b""))


def _check_origin(request: Request) -> None:
    if rejection := check_cross_origin(request.method, request.headers):
        raise ProblemError(*rejection)


def _status(error: SignInFailed) -> int:
    if isinstance(error, SignInUnavailable):
        return 503
    return 403 if isinstance(error, PersonDisabled) else 400


def _failure(
    request: Request, status: int, detail: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return what went wrong: to a person as a page, to a program as a problem."""
    if "text/html" not in request.headers.get("accept", ""):
        return problem(status, detail, headers=headers)
    response = _page(status, "The login has failed", f"<p>{escape(detail)}</p>")
    response.headers.update(headers or {})
    return response


def _page(status: int, title: str, content: str) -> HTMLResponse:
    again = '<p><a href="/auth/login">Log in again</a></p>' if status >= 400 else ""
    return page(status, title, content + again)
