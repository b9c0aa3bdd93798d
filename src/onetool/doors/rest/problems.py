"""What went wrong, as `application/problem+json`: what, and what would be right."""

import sqlite3
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from onetool.domain.bundle import BundleError, InvalidBundle, NoSuchBundle, ReadOnly, Refused
from onetool.domain.errors import ErrorCode, Reason

STATUS_OF_ERROR: Mapping[type[BundleError], int] = MappingProxyType(
    {InvalidBundle: 400, ReadOnly: 403, NoSuchBundle: 404, Refused: 409}
)
STATUS_OF_REASON: Mapping[Reason, int] = MappingProxyType(
    {
        **dict.fromkeys(Reason, 200),
        Reason.UNKNOWN: 404,
        Reason.NOT_ALLOWED: 404,
        Reason.DISABLED: 409,
        Reason.NOT_REGISTERED: 409,
        Reason.BAD_ARGS: 400,
        Reason.TOO_LARGE_IN: 400,
        Reason.NEEDS_APPROVAL: 403,
        Reason.RATE_LIMITED: 429,
        Reason.BUSY: 429,
    }
)
"""What a failed call answers: the caller's mistakes have a status, a failure of the tool itself is a 200."""
PARTS = ("body", "query", "path", "header")
"""Where FastAPI says that a value stands; its name says it already."""
CALLS = ("/invoke", "/call")
"""Routes that answer `ok`, `error` and `meta` whatever happens."""


class Problem(BaseModel):
    """An error in the usual shape (RFC 9457)."""

    type: str = "about:blank"
    title: str = Field(examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str = Field(examples=["slug 'a_b' holds '_'. Allowed: letters, digits and dashes."])


class Failed(Exception):
    """A request that cannot be answered as it stands: with which status, and why."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.headers = status, headers


def problem(status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Answer with a problem."""
    body = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail).model_dump()
    kept = dict(headers) if headers else None
    return JSONResponse(body, status, headers=kept, media_type="application/problem+json")


def failed_call(status: int, code: ErrorCode, message: str, tool: str = "") -> JSONResponse:
    """Answer a call that never reached its tool."""
    error = {"tool": tool, "code": code, "message": message}
    return JSONResponse({"ok": False, "error": error, "meta": {"tool": tool}}, status)


def status_of(error: BundleError) -> int:
    """The status of an error."""
    return next(status for kind, status in STATUS_OF_ERROR.items() if isinstance(error, kind))


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The answers of a route that are problems, for its documentation."""
    media = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": media}
        for status in (400, 401, 403, 413, 503, *statuses)
    }


def add_handlers(app: FastAPI, masked: Callable[[str], str]) -> None:
    """Let every error of the app be answered as a problem, without secrets."""

    @app.exception_handler(BundleError)
    async def bundle_error(request: Request, error: BundleError) -> JSONResponse:
        return problem(status_of(error), masked(str(error)))

    @app.exception_handler(Failed)
    async def failed(request: Request, error: Failed) -> JSONResponse:
        return problem(error.status, masked(str(error)), headers=error.headers)

    @app.exception_handler(TimeoutError)
    @app.exception_handler(sqlite3.OperationalError)
    async def busy(request: Request, error: Exception) -> JSONResponse:
        return problem(503, "Somebody else is writing. Try again.", headers={"Retry-After": "1"})

    @app.exception_handler(Exception)
    async def our_mistake(request: Request, error: Exception) -> JSONResponse:
        message = f"Something went wrong here ({type(error).__name__}); the log says what."
        if request.url.path.endswith(CALLS):
            return failed_call(500, ErrorCode.EXECUTION_ERROR, message)
        return problem(500, message)

    _add_handlers_of_requests(app, masked)


def _add_handlers_of_requests(app: FastAPI, masked: Callable[[str], str]) -> None:
    @app.exception_handler(RequestValidationError)
    async def wrong_shape(request: Request, error: RequestValidationError) -> JSONResponse:
        message = masked(_told(error))
        if request.url.path.endswith(CALLS):
            return failed_call(400, ErrorCode.INVALID_ARGS, message)
        return problem(400, message)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        path = request.url.path
        if path.endswith(CALLS) and error.status_code == 400:
            return failed_call(400, ErrorCode.INVALID_ARGS, f"The body is not JSON: {error.detail}")
        if error.status_code == 405:
            error.headers = {"Allow": ", ".join(_methods(app, request))}
        details = {
            404: f"There is nothing at {path}. See /openapi.json.",
            405: f"{request.method} is not for {path}.",
        }
        return problem(
            error.status_code, details.get(error.status_code, str(error.detail)), headers=error.headers
        )


def _methods(app: FastAPI, request: Request) -> list[str]:
    """All methods that a path answers, whichever routes they belong to."""
    return sorted(
        method
        for route in app.router.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in getattr(route, "methods", None) or ()
    )


def _told(error: RequestValidationError) -> str:
    """Every mistake of a request in one line, the path of each first."""
    from onetool.domain.bundle_bodies import tell_mistakes

    return tell_mistakes(
        [{**one, "loc": tuple(part for part in one["loc"] if part not in PARTS)} for one in error.errors()]
    )
