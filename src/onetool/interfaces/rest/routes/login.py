"""`/login` and `/logout`: exchange the token for a cookie."""

from typing import Any

import orjson
from fastapi import APIRouter, Request, Response

from onetool.interfaces.rest.auth.credentials import Credentials
from onetool.interfaces.rest.auth.login_code import LoginCode
from onetool.interfaces.rest.auth.wrong_tokens import WrongTokens
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.login import LoginBody, LoginStatus

from .system import NO_TOKEN


def login_routes(
    credentials: Credentials, wrong_tokens: WrongTokens, code: LoginCode | None = None
) -> APIRouter:
    """Create the login routes. The code is accepted once in place of the token."""
    routes = APIRouter(tags=["login"])
    rejections: dict[int | str, dict[str, Any]] = {
        status: problem_responses()[status] for status in (403, 413)
    }

    @routes.get(
        "/login",
        response_model=LoginStatus,
        response_model_exclude_unset=True,
        responses=rejections,
        openapi_extra=NO_TOKEN,
    )
    async def get_login_status(request: Request) -> Any:
        """Return whether the request has a valid token or cookie. Needs no token."""
        return {"loggedIn": credentials.is_valid(request.headers)}

    @routes.post(
        "/login",
        status_code=204,
        responses={**rejections, **{status: problem_responses()[status] for status in (400, 401)}},
        openapi_extra=NO_TOKEN | _request_body(),
    )
    async def login(request: Request) -> Response:
        """Exchange the token, or the code of a login link, for a cookie that scripts cannot read.

        After several wrong tokens, the responses to further ones are delayed.
        """
        token = parse_token(await request.body())
        if not credentials.is_token(token) and not (code and code.redeem(token)):
            await wrong_tokens.delay(request.scope, request.receive)
            raise ProblemError(401, "Wrong token. `onetool serve` prints where it is.")
        response = Response(status_code=204)
        set_cookie(response, request, credentials.cookie_name, credentials.cookie)
        return response

    @routes.post("/logout", status_code=204, responses=rejections, openapi_extra=NO_TOKEN)
    async def logout(request: Request) -> Response:
        """Delete the cookie."""
        response = Response(status_code=204)
        set_cookie(response, request, credentials.cookie_name, "", max_age=0)
        return response

    return routes


def parse_token(body: bytes) -> str:
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


def set_cookie(
    response: Response,
    request: Request,
    name: str,
    value: str,
    *,
    max_age: int | None = None,
    path: str = "/",
) -> None:
    """Set a cookie that scripts cannot read and that other sites cannot send; with `max_age=0`, delete it."""
    is_https = "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))
    response.set_cookie(
        name, value, max_age=max_age, path=path, secure=is_https, httponly=True, samesite="strict"
    )


def _request_body() -> dict[str, Any]:
    schema = LoginBody.model_json_schema()
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
