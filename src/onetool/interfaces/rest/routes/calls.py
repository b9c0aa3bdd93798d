"""Routes that call tools, with a JSON response or as a stream of events."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from onetool.domain.bundles.bundle import BundleError
from onetool.domain.calls.approval_request import call_digest
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.errors import CODE_BY_REASON, ErrorCode, ExecutionError
from onetool.domain.jobs.job import Job, OpenQuestion
from onetool.domain.jobs.job_errors import KeyReused
from onetool.domain.jobs.queued_call import QueuedCall
from onetool.domain.text.json_text import encode
from onetool.interfaces.rest.job_bodies import (
    ASKED,
    input_required,
    question_event,
    rest_caller,
    started_job,
)
from onetool.interfaces.rest.outcome_bodies import outcome_body, outcome_response
from onetool.interfaces.rest.params import BundleID, MediaFormat, Slug, Version
from onetool.interfaces.rest.prefer import idempotency_key, preferences
from onetool.interfaces.rest.problems import (
    STATUS_BY_REASON,
    ProblemError,
    call_failure,
    failure_body,
    internal_error_message,
    problem_responses,
    retry_headers,
    status_for,
)
from onetool.interfaces.rest.schemas.calls import CallBody, CallResponse, InvokeBody
from onetool.interfaces.rest.sse import EVENT_STREAM, EventQueue, EventStream, format_event
from onetool.runtime.call_job import Present
from onetool.runtime.outcomes import Outcome
from onetool.runtime.runtime import Runtime

log = logging.getLogger(__name__)
MAX_QUEUED_STEPS = 1_000
"""Steps that wait for a slow client; further ones are dropped."""
RESPONSES: dict[int | str, dict[str, Any]] = {
    **{status: {"model": CallResponse} for status in (400, 403, 404, 409, 429)},
    **ASKED,
    200: {"content": {EVENT_STREAM: {}}, "model": CallResponse},
    **{status: problem_responses(422)[status] for status in (401, 413, 422)},
}


def call_routes(runtime: Runtime) -> APIRouter:
    """Create the routes that call tools."""
    routes = APIRouter(tags=["calls"])

    @routes.post(
        "/tools/bundles/{bundleID}/tools/{toolSlug}/version/{version}/invoke",
        response_model=CallResponse,
        responses=RESPONSES,
    )
    async def invoke_tool(
        bundle_id: BundleID,
        slug: Slug,
        version: Version,
        body: InvokeBody,
        request: Request,
        *,
        media: MediaFormat = "handle",
    ) -> Response:
        """Call a version of a tool. With `Accept: text/event-stream`, streams its progress, the HTTP
        requests that it sends and its questions, then the result. Answer with `POST /jobs/{id}/answers`.
        With `Prefer: respond-async`, responds at once: the call becomes a job.
        """
        try:
            name = await runtime.state.bundles.tool_name((bundle_id, slug, version))
        except BundleError as error:
            code = ErrorCode.INVALID_ARGS if status_for(error) == 400 else ErrorCode.TOOL_NOT_FOUND
            return call_failure(status_for(error), code, str(error), slug[:100])
        return await _call(runtime, name, body, request, inline=media == "inline")

    @routes.post("/tools/call", response_model=CallResponse, responses=RESPONSES)
    async def call_tool(body: CallBody, request: Request, media: MediaFormat = "handle") -> Response:
        """Call any tool by name: `pack.func`, `pack.func@version` or an alias.

        With `Prefer: respond-async`, the call becomes a job, and the response is 202 with its `Location`. The
        same `Idempotency-Key` (up to 255 characters) within a day returns the same job; with another tool
        or other arguments it is refused with 422.
        """
        return await _call(runtime, body.name, body, request, inline=media == "inline")

    return routes


async def _call(runtime: Runtime, name: str, body: InvokeBody, request: Request, *, inline: bool) -> Response:
    if preferences(request.headers).respond_async:
        return await _submit(runtime, name, body, request)
    if EVENT_STREAM in request.headers.get("accept", ""):
        call = _StreamedCall(runtime, inline=inline)
        return EventStream(call.events, asyncio.create_task(call.run(name, body.args)))
    caller = rest_caller(runtime, can_ask=body.interactive)
    if body.interactive:
        result = await _run(runtime, name, body.args, caller)
    else:
        result = await runtime.call_tool(name, body.args, caller, "rest")
    if isinstance(result, Job):
        return input_required(runtime, result)
    if not isinstance(result, ToolResult) or result.meta.reason is None:
        return await outcome_response(runtime, result, inline=inline)
    response = await outcome_response(runtime, result, STATUS_BY_REASON[result.meta.reason], inline=inline)
    response.headers.update(retry_headers(result))
    return response


async def _submit(runtime: Runtime, name: str, body: InvokeBody, request: Request) -> Response:
    """Start a call that the client does not wait for."""
    call = QueuedCall(name, body.args, can_ask=body.interactive)
    try:
        job = await runtime.submitted.submit(call, idempotency_key(request.headers))
    except KeyReused as error:
        raise ProblemError(422, str(error)) from None
    except ExecutionError as error:
        return call_failure(STATUS_BY_REASON[error.reason], CODE_BY_REASON[error.reason], str(error), name)
    return started_job(runtime, job)


async def _run(
    runtime: Runtime, name: str, args: Mapping[str, Any], caller: Caller, present: Present | None = None
) -> Outcome | Job:
    """Call a tool that may ask."""
    return await runtime.jobs.run(
        lambda own: runtime.call_tool(name, args, own, "rest"),
        caller,
        name,
        call_digest(name, args),
        present=present,
    )


class _StreamedCall:
    """One call: its progress, its HTTP requests and its questions as events, then its result."""

    def __init__(self, runtime: Runtime, *, inline: bool) -> None:
        self.events: EventQueue = asyncio.Queue()
        self._runtime, self._inline = runtime, inline
        self._loop = asyncio.get_running_loop()

    async def run(self, name: str, args: Mapping[str, Any]) -> None:
        """Call the tool and end the stream with its result."""
        caller = rest_caller(
            self._runtime,
            can_ask=True,
            on_progress=self._on_progress,
            on_request=lambda text: self._report("request", {"text": text}),
        )
        try:
            result = await _run(self._runtime, name, args, caller, self._present)
            if isinstance(result, Job):  # another request waits for it
                message = f"{name} continues as job {result.id}."
                response = failure_body(ErrorCode.EXECUTION_ERROR, message, name)
            else:
                response = await outcome_body(self._runtime, result, inline=self._inline)
            body = await self._runtime.threads.run(encode, response)
        except Exception as error:  # the stream must end with a result
            log.exception("call failed")
            body = encode(failure_body(ErrorCode.EXECUTION_ERROR, internal_error_message(error), name))
        await asyncio.sleep(0)  # the steps reported just before the end come first
        self.events.put_nowait(format_event("result", body))
        self.events.put_nowait(None)

    async def _present(self, job: str, question: OpenQuestion) -> None:
        event = encode(question_event(self._runtime, job, question))
        self.events.put_nowait(format_event("question", event))

    def _on_progress(self, done: float, total: float | None, message: str) -> None:
        self._report("progress", {"done": done, "total": total, "message": str(message)})

    def _report(self, kind: str, step: dict[str, Any]) -> None:
        """Report a step, from any thread."""
        self._loop.call_soon_threadsafe(self._put, kind, step)

    def _put(self, kind: str, step: dict[str, Any]) -> None:
        if self.events.qsize() < MAX_QUEUED_STEPS:
            self.events.put_nowait(format_event(kind, encode(self._runtime.state.redactor.mask(step))))
