"""`/login` and `/logout`: a page shows the token once, and is known by a cookie from then on."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from .credentials import Credentials
from .problems import Failed, documented
from .screen_shapes import LoggedIn, LoginBody
from .system import OPEN

TRIES, MINUTE = 10, 60.0
"""How often a wrong token may be tried in a minute; then nobody logs in until the minute is over."""


def login_routes(credentials: Credentials) -> APIRouter:
    """Make the routes by which a page is let in."""
    routes = APIRouter(tags=["login"])
    tries = Tries()
    refused: dict[int | str, dict[str, Any]] = {status: documented()[status] for status in (403, 413)}

    @routes.get("/login", response_model=LoggedIn, responses=refused, openapi_extra=OPEN)
    async def is_logged_in(request: Request) -> Any:
        """Tell whether this request is let in; no token is needed to ask."""
        headers = request.headers
        return {"loggedIn": credentials.has_token(headers) or credentials.has_cookie(headers)}

    @routes.post(
        "/login",
        status_code=204,
        responses={**refused, **{it: documented(429)[it] for it in (400, 401, 429)}},
        openapi_extra=OPEN | _body(),
    )
    async def login(request: Request) -> Response:
        """Exchange the token for a cookie that scripts cannot read."""
        given = _token(await request.body())
        if wait := tries.wait():
            retry = {"Retry-After": str(wait)}
            raise Failed(429, f"Too many wrong tokens. Try again in {wait} seconds.", headers=retry)
        if not credentials.is_token(given):
            tries.count()
            raise Failed(401, "This is not the token. `onetool serve` says where it is kept.")
        answer = Response(status_code=204)
        _set_cookie(answer, request, credentials.cookie_name, credentials.cookie)
        return answer

    @routes.post("/logout", status_code=204, responses=refused, openapi_extra=OPEN)
    async def logout(request: Request) -> Response:
        """Let the browser forget the cookie."""
        answer = Response(status_code=204)
        _set_cookie(answer, request, credentials.cookie_name, "", max_age=0)
        return answer

    return routes


class Tries:
    """Counts wrong tokens, whoever sent them: addresses are easily made up."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._at = clock, deque[float](maxlen=TRIES)

    def wait(self) -> int:
        """Return how many seconds nobody may try; 0: go on."""
        if len(self._at) < TRIES:
            return 0
        return max(0, int(self._at[0] + MINUTE - self._clock() + 1))

    def count(self) -> None:
        """Count a wrong one."""
        self._at.append(self._clock())


def _token(body: bytes) -> str:
    """What was sent as token; a mistake is told without what was sent: it may hold the token."""
    try:
        sent = orjson.loads(body)
    except ValueError:
        sent = None
    if not isinstance(sent, dict) or not isinstance(sent.get("token"), str):
        raise Failed(400, 'The body should be {"token": "..."}.')
    return str(sent["token"])


def _set_cookie(
    answer: Response, request: Request, name: str, value: str, max_age: int | None = None
) -> None:
    is_https = request.url.scheme == "https"
    answer.set_cookie(
        name, value, max_age=max_age, path="/", secure=is_https, httponly=True, samesite="strict"
    )


def _body() -> dict[str, Any]:
    schema = LoginBody.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
