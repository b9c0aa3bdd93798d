"""Error responses as `application/problem+json`."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from onetool.domain.bundles.bundle import (
    BundleConflict,
    BundleError,
    BundleNotFound,
    FieldError,
    InvalidBundle,
    ReadOnlyBundle,
)
from onetool.domain.calls.call import ToolResult
from onetool.domain.errors import ErrorCode, LimitExceeded, QuotaExceeded, Reason, StoreUnavailable
from onetool.domain.text.json_text import describe_invalid_json

STATUS_BY_ERROR: Mapping[type[BundleError], int] = MappingProxyType(
    {InvalidBundle: 400, ReadOnlyBundle: 403, BundleNotFound: 404, BundleConflict: 409}
)
STATUS_BY_REASON: Mapping[Reason, int] = MappingProxyType(
    {
        **dict.fromkeys(Reason, 200),
        Reason.UNKNOWN: 404,
        Reason.NOT_ALLOWED: 404,
        Reason.DISABLED: 409,
        Reason.NOT_REGISTERED: 409,
        Reason.BAD_ARGS: 400,
        Reason.TOO_LARGE_IN: 400,
        Reason.NEEDS_APPROVAL: 403,
        Reason.NEEDS_LOGIN: 403,
        Reason.RATE_LIMITED: 429,
        Reason.BUSY: 429,
        Reason.UNAVAILABLE: 503,
    }
)
"""Status of a failed call. A failure of the tool itself has status 200."""
LOCATIONS = ("body", "query", "path", "header")
"""First parts of the paths in FastAPI's validation errors, which messages omit."""
CALL_PATHS = ("/invoke", "/call")
"""Suffixes of routes that always return `ok`, `error` and `meta`."""


class FieldErrorResponse(BaseModel):
    """What is wrong with one field."""

    path: str = Field(
        description="Names and indexes from the body to the field, joined by dots. Empty: the body itself.",
        examples=["httpImpl.request.urlTemplate"],
    )
    message: str = Field(examples=["is missing"])


class ProblemDetails(BaseModel):
    """An error response (RFC 9457)."""

    type: str = "about:blank"
    title: str = Field(examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str = Field(examples=["slug 'a_b' contains '_'. Allowed: letters, digits and dashes."])
    errors: list[FieldErrorResponse] | None = Field(
        None, description="The invalid fields, if the problem is about fields of the request."
    )


class ProblemError(Exception):
    """A request failed with this status and detail."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.headers = status, headers


def problem(
    status: int,
    detail: str,
    *,
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return a problem response."""
    fields = [FieldErrorResponse(path=error.path, message=error.message) for error in errors] or None
    details = ProblemDetails(title=HTTPStatus(status).phrase, status=status, detail=detail, errors=fields)
    body = details.model_dump(exclude_none=True)
    own_headers = dict(headers) if headers else None
    return JSONResponse(body, status, headers=own_headers, media_type="application/problem+json")


def call_failure(status: int, code: ErrorCode, message: str, tool: str = "") -> JSONResponse:
    """Return the response for a call that failed before it reached its tool."""
    return JSONResponse(failure_body(code, message, tool), status)


def failure_body(code: ErrorCode, message: str, tool: str = "") -> dict[str, Any]:
    """Return the body for a call that failed before it reached its tool."""
    return {"ok": False, "error": {"tool": tool, "code": code, "message": message}, "meta": {"tool": tool}}


def internal_error_message(error: Exception) -> str:
    """Return the message for an unexpected exception, without its text unless it is one of a store."""
    if isinstance(error, StoreUnavailable):
        return store_error_message(error)
    return f"Internal error ({type(error).__name__}). See the log for details."


def store_error_message(error: Exception) -> str:
    """Return the message for a store that cannot be used at the moment."""
    return f"The store cannot be used: {str(error).rstrip('.')}. Try again."


def status_for(error: BundleError) -> int:
    """Return the HTTP status for an error."""
    return next(status for kind, status in STATUS_BY_ERROR.items() if isinstance(error, kind))


def retry_headers(result: ToolResult) -> dict[str, str]:
    """Return when to try again a call that was one too many, or needs a store that is away, in seconds."""
    error = result.raised
    if isinstance(error, LimitExceeded):
        return {"Retry-After": str(math.ceil(error.retry_after_s))}
    return {"Retry-After": "1"} if result.meta.reason is Reason.UNAVAILABLE else {}


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses for the common problems of a route and these statuses."""
    content = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": content}
        for status in (400, 401, 403, 413, 503, *statuses)
    }


def add_handlers(app: FastAPI, redact: Callable[[str], str]) -> None:
    """Convert all errors of the app to problem responses, with secrets masked."""

    @app.exception_handler(BundleError)
    async def bundle_error(request: Request, error: BundleError) -> JSONResponse:
        errors = error.errors if isinstance(error, InvalidBundle) else ()
        return problem(status_for(error), redact(str(error)), errors=_redact_errors(errors, redact))

    @app.exception_handler(ProblemError)
    async def problem_error(request: Request, error: ProblemError) -> JSONResponse:
        return problem(error.status, redact(str(error)), headers=error.headers)

    @app.exception_handler(QuotaExceeded)
    async def quota_exceeded(request: Request, error: QuotaExceeded) -> JSONResponse:
        return problem(409, redact(str(error)))

    @app.exception_handler(TimeoutError)
    @app.exception_handler(StoreUnavailable)
    async def store_unavailable(request: Request, error: Exception) -> JSONResponse:
        return problem(503, redact(store_error_message(error)), headers={"Retry-After": "1"})

    @app.exception_handler(Exception)
    async def internal_error(request: Request, error: Exception) -> JSONResponse:
        message = internal_error_message(error)
        if request.url.path.endswith(CALL_PATHS):
            return call_failure(500, ErrorCode.EXECUTION_ERROR, message)
        return problem(500, message)

    _add_request_handlers(app, redact)


def _add_request_handlers(app: FastAPI, redact: Callable[[str], str]) -> None:
    @app.exception_handler(RequestValidationError)
    async def validation_error(request: Request, error: RequestValidationError) -> JSONResponse:
        message, errors = _describe_errors(error)
        if request.url.path.endswith(CALL_PATHS):
            return call_failure(400, ErrorCode.INVALID_ARGS, redact(message))
        return problem(400, redact(message), errors=_redact_errors(errors, redact))

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        path = request.url.path
        unreadable = f"The body is not valid JSON: {error.__cause__ or error.detail}."
        if path.endswith(CALL_PATHS) and error.status_code == 400:
            return call_failure(400, ErrorCode.INVALID_ARGS, unreadable)
        if error.status_code == 405:
            error.headers = {"Allow": ", ".join(_methods(app, request))}
        details = {
            400: unreadable,
            404: f"Path {path} not found. See /openapi.json.",
            405: f"Method {request.method} is not allowed for {path}.",
        }
        return problem(
            error.status_code, details.get(error.status_code, str(error.detail)), headers=error.headers
        )


def _methods(app: FastAPI, request: Request) -> list[str]:
    """Return the methods of all routes that match a path."""
    return sorted(
        method
        for route in app.router.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in getattr(route, "methods", None) or ()
    )


def _describe_errors(error: RequestValidationError) -> tuple[str, list[FieldError]]:
    """Return all validation errors as one line, and by field."""
    from onetool.domain.bundles.schemas import field_errors, join_errors

    if isinstance(error.__cause__, json.JSONDecodeError):
        return f"The body is {describe_invalid_json(error.__cause__.doc, error.__cause__)}", []
    errors = field_errors(
        {**item, "loc": item["loc"][1:] if item["loc"][:1] and item["loc"][0] in LOCATIONS else item["loc"]}
        for item in error.errors()
    )
    return join_errors(errors), errors


def _redact_errors(errors: Sequence[FieldError], redact: Callable[[str], str]) -> list[FieldError]:
    return [FieldError(redact(error.path), redact(error.message)) for error in errors]
