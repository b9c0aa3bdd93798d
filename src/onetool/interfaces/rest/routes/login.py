"""`/login` and `/logout`: exchange the token for a cookie."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from onetool.interfaces.rest.auth.credentials import Credentials
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.login import LoginBody, LoginStatus

from .system import NO_TOKEN

MAX_ATTEMPTS, PERIOD_S = 10, 60.0
"""Wrong tokens allowed per period. After that, all logins fail until the period is over."""


def login_routes(credentials: Credentials) -> APIRouter:
    """Create the login routes."""
    routes = APIRouter(tags=["login"])
    attempts = LoginAttempts()
    rejections: dict[int | str, dict[str, Any]] = {
        status: problem_responses()[status] for status in (403, 413)
    }

    @routes.get("/login", response_model=LoginStatus, responses=rejections, openapi_extra=NO_TOKEN)
    async def get_login_status(request: Request) -> Any:
        """Return whether the request has a valid token or cookie. Needs no token."""
        headers = request.headers
        return {"loggedIn": credentials.has_token(headers) or credentials.has_cookie(headers)}

    @routes.post(
        "/login",
        status_code=204,
        responses={**rejections, **{status: problem_responses(429)[status] for status in (400, 401, 429)}},
        openapi_extra=NO_TOKEN | _request_body(),
    )
    async def login(request: Request) -> Response:
        """Exchange the token for a cookie that scripts cannot read."""
        token = _parse_token(await request.body())
        if wait_s := attempts.retry_after_s():
            retry = {"Retry-After": str(wait_s)}
            raise ProblemError(429, f"Too many wrong tokens. Try again in {wait_s} seconds.", headers=retry)
        if not credentials.is_token(token):
            attempts.add()
            raise ProblemError(401, "Wrong token. `onetool serve` prints where it is.")
        response = Response(status_code=204)
        _set_cookie(response, request, credentials.cookie_name, credentials.cookie)
        return response

    @routes.post("/logout", status_code=204, responses=rejections, openapi_extra=NO_TOKEN)
    async def logout(request: Request) -> Response:
        """Delete the cookie."""
        response = Response(status_code=204)
        _set_cookie(response, request, credentials.cookie_name, "", max_age=0)
        return response

    return routes


class LoginAttempts:
    """Counts wrong tokens of all clients together, because addresses can be forged."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._times = clock, deque[float](maxlen=MAX_ATTEMPTS)

    def retry_after_s(self) -> int:
        """Return the seconds until the next login is allowed, or 0."""
        if len(self._times) < MAX_ATTEMPTS:
            return 0
        return max(0, int(self._times[0] + PERIOD_S - self._clock() + 1))

    def add(self) -> None:
        """Count a wrong token."""
        self._times.append(self._clock())


def _parse_token(body: bytes) -> str:
    """Return the token in a body.

    Raises:
        ProblemError: The body is invalid. The error omits the body, which may contain the token.
    """
    try:
        data = orjson.loads(body)
    except ValueError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("token"), str):
        raise ProblemError(400, 'The body must be {"token": "..."}.')
    return str(data["token"])


def _set_cookie(
    response: Response, request: Request, name: str, value: str, max_age: int | None = None
) -> None:
    is_https = request.url.scheme == "https"
    response.set_cookie(
        name, value, max_age=max_age, path="/", secure=is_https, httponly=True, samesite="strict"
    )


def _request_body() -> dict[str, Any]:
    schema = LoginBody.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
