"""`/audit`: who has changed what in the workspace."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from onetool.domain.audit.entry import AuditEntry, AuditFilter, entry_json
from onetool.domain.text.json_text import encode
from onetool.interfaces.rest.params import json_response
from onetool.interfaces.rest.problems import ProblemError, problem_responses
from onetool.interfaces.rest.schemas.audit import AuditPage
from onetool.runtime.runtime import Runtime

T = TypeVar("T")
MAX_LIMIT, DEFAULT_LIMIT = 200, 50
NDJSON = "application/x-ndjson"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
Word = Annotated[str | None, Query(max_length=400)]
Action = Annotated[
    str | None, Query(max_length=100, description="An action, or all of a kind, such as `bundle`.")
]
Target = Annotated[
    str | None,
    Query(max_length=400, description="An id or a name. Of a bundle: with the changes of its tools."),
]
Time = Annotated[float | None, Query(ge=0, allow_inf_nan=False, description="Unix time in seconds.")]
Cursor = Annotated[str | None, Query(max_length=100, description="`next` of the previous page.")]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of entries.")]


def _filter(
    *,
    actor: Word = None,
    action: Action = None,
    target: Target = None,
    since: Time = None,
    until: Time = None,
) -> AuditFilter:
    return AuditFilter(actor, action, target, since, until)


Filter = Annotated[AuditFilter, Depends(_filter)]


def audit_routes(runtime: Runtime) -> APIRouter:
    """Create the audit routes. Only a hosted OneTool has an audit log."""
    routes = APIRouter(prefix="/audit", tags=["audit"])

    @routes.get("", response_model=AuditPage, responses=problem_responses(404))
    async def list_changes(filter: Filter, cursor: Cursor = None, limit: Limit = DEFAULT_LIMIT) -> Any:
        """List who has changed what, newest first. Only a hosted OneTool has an audit log."""
        try:
            page = await _existing(runtime.audit).page(filter, cursor, limit)
        except ValueError as error:
            raise ProblemError(400, str(error)) from None
        entries = [entry_json(entry) for entry in page.items]
        return json_response(runtime.state.redactor.mask({"entries": entries, "next": page.next}))

    @routes.get(
        "/export",
        response_class=StreamingResponse,
        responses={
            200: {"content": {NDJSON: {}}, "description": "One entry per line"},
            **problem_responses(404),
        },
    )
    async def export_changes(filter: Filter) -> StreamingResponse:
        """Stream all changes as lines of JSON, newest first. An export that fails breaks off."""
        chunks = _existing(runtime.audit).export(filter)
        first = await anext(chunks)  # a failure is still a problem response
        return StreamingResponse(_lines(runtime, first, chunks), media_type=NDJSON, headers=HEADERS)

    return routes


def _existing(log: T | None) -> T:
    """Return the audit log.

    Raises:
        ProblemError: There is none.
    """
    if log is None:
        raise ProblemError(404, "There is no audit log here. Only a hosted OneTool has one.")
    return log


async def _lines(
    runtime: Runtime, first: Sequence[AuditEntry], rest: AsyncIterator[Sequence[AuditEntry]]
) -> AsyncIterator[bytes]:
    """Return chunks of entries as lines of JSON."""
    yield await runtime.threads.run(_encode, runtime, first)
    async for chunk in rest:
        yield await runtime.threads.run(_encode, runtime, chunk)


def _encode(runtime: Runtime, chunk: Sequence[AuditEntry]) -> bytes:
    mask = runtime.state.redactor.mask
    return b"".join(encode(mask(entry_json(entry))) + b"\n" for entry in chunk)
