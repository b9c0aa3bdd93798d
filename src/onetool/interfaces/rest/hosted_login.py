"""`/login` and `/logout` of a workspace."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from onetool.domain.errors import StoreUnavailable

from .auth.middleware import SAFE_METHODS, check_cross_origin
from .auth.wrong_tokens import WrongTokens
from .current_workspace import PREFIX, split_path
from .hosted_credentials import COOKIE, Authenticate, HostedCredentials, HostedPeople
from .problems import ProblemError, problem
from .routes.login import parse_token, set_cookie

LOGIN_PATH, LOGOUT_PATH = "/login", "/logout"
NO_STORE = {"cache-control": "no-store"}


class HostedLogin:
    """Exchanges an API key for a cookie of its workspace."""

    def __init__(
        self,
        authenticate: Authenticate,
        credentials: HostedCredentials,
        people: HostedPeople | None,
        wrong_tokens: WrongTokens,
    ) -> None:
        self._authenticate, self._credentials = authenticate, credentials
        self._people, self._wrong_tokens = people, wrong_tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request for `/login` or `/logout`."""
        request = Request(scope, receive)
        slug, path = split_path(scope["path"])
        try:
            response = await self._respond(request, slug, path)
        except ProblemError as error:
            response = problem(error.status, str(error))
        except StoreUnavailable:
            response = problem(503, "The key cannot be checked: the database is not available. Try again.")
        await response(scope, receive, send)

    async def _respond(self, request: Request, slug: str, path: str) -> Response:
        cookie_path = f"{PREFIX}{slug}"
        if path == LOGIN_PATH and request.method in SAFE_METHODS:
            principal = await self._credentials.find(slug, path, request.headers)
            if principal is None and self._credentials.are_given(request.headers):
                await self._wrong_tokens.delay(request.scope, request.receive)
            status = {"loggedIn": principal is not None, "withAccount": self._people is not None}
            return JSONResponse(status, headers=NO_STORE)
        if request.method != "POST":
            raise ProblemError(405, f"{request.method} is not allowed here.")
        response = Response(status_code=204)
        if path == LOGOUT_PATH:
            set_cookie(response, request, COOKIE, "", max_age=0, path=cookie_path)
            await self._end_session(request, response)
            return response
        key = parse_token(await request.body()).strip()
        if await self._authenticate(slug, key) is None:
            await self._wrong_tokens.delay(request.scope, request.receive)
            raise ProblemError(401, "Wrong API key.")
        set_cookie(response, request, COOKIE, key, path=cookie_path)
        return response

    async def _end_session(self, request: Request, response: Response) -> None:
        """End the session of a person, if the request comes from a page of this server."""
        session = self._credentials.session_of(request.headers)
        if self._people and session and not check_cross_origin(request.method, request.headers):
            await self._people.end_session(session)
            self._people.cookies.delete_session(response)
