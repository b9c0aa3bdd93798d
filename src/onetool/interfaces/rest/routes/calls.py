"""Routes that call tools, with a JSON response or as a stream of events."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from onetool.domain.bundles.bundle import BundleError
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller, always_approve
from onetool.domain.errors import ErrorCode
from onetool.domain.text.json_text import encode
from onetool.interfaces.rest.params import BundleID, Slug, Version
from onetool.interfaces.rest.problems import (
    STATUS_BY_REASON,
    call_failure,
    failure_body,
    internal_error_message,
    problem_responses,
    status_for,
)
from onetool.interfaces.rest.schemas.calls import CallBody, CallResponse, InvokeBody
from onetool.interfaces.rest.sse import EVENT_STREAM, EventQueue, EventStream, format_event
from onetool.runtime.runtime import Runtime

log = logging.getLogger(__name__)
MAX_QUEUED_STEPS = 1_000
"""Steps that wait for a slow client; further ones are dropped."""
RESPONSES: dict[int | str, dict[str, Any]] = {
    **{status: {"model": CallResponse} for status in (400, 403, 404, 409, 429)},
    200: {"content": {EVENT_STREAM: {}}, "model": CallResponse},
    **{status: problem_responses()[status] for status in (401, 413)},
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
    ) -> Response:
        """Call a version of a tool. With `Accept: text/event-stream`, streams its progress and the HTTP
        requests that it sends, then the result.
        """
        try:
            name = await runtime.state.bundles.tool_name((bundle_id, slug, version))
        except BundleError as error:
            code = ErrorCode.INVALID_ARGS if status_for(error) == 400 else ErrorCode.TOOL_NOT_FOUND
            return call_failure(status_for(error), code, str(error), slug[:100])
        return await _call(runtime, name, body.args, request)

    @routes.post("/tools/call", response_model=CallResponse, responses=RESPONSES)
    async def call_tool(body: CallBody, request: Request) -> Response:
        """Call any tool by name: `pack.func`, `pack.func@version` or an alias."""
        return await _call(runtime, body.name, body.args, request)

    return routes


async def _call(runtime: Runtime, name: str, args: Mapping[str, Any], request: Request) -> Response:
    if EVENT_STREAM in request.headers.get("accept", ""):
        call = _StreamedCall(runtime)
        return EventStream(call.events, asyncio.create_task(call.run(name, args)))
    caller = Caller(interface="rest", approve=always_approve)
    return _response(await runtime.call_tool(name, args, caller, "rest"))


def _response(result: ToolResult) -> Response:
    status = STATUS_BY_REASON[result.meta.reason] if result.meta.reason else 200
    return Response(encode(_body(result)), status, media_type="application/json")


def _body(result: ToolResult) -> dict[str, Any]:
    data = result.to_json()
    meta = data["meta"]
    if result.error is None:
        return {"ok": True, "value": result.data, "meta": meta}
    return {"ok": False, "error": data["error"], "meta": meta}


class _StreamedCall:
    """One call: its progress and its HTTP requests as events, then its result."""

    def __init__(self, runtime: Runtime) -> None:
        self.events: EventQueue = asyncio.Queue()
        self._runtime, self._loop = runtime, asyncio.get_running_loop()

    async def run(self, name: str, args: Mapping[str, Any]) -> None:
        """Call the tool and end the stream with its result."""
        caller = Caller(
            interface="rest",
            approve=always_approve,
            on_progress=self._on_progress,
            on_request=lambda text: self._report("request", {"text": text}),
        )
        try:
            body = _body(await self._runtime.call_tool(name, args, caller, "rest"))
        except Exception as error:  # the stream must end with a result
            log.exception("call failed")
            body = failure_body(ErrorCode.EXECUTION_ERROR, internal_error_message(error), name)
        await asyncio.sleep(0)  # the steps reported just before the end come first
        self.events.put_nowait(format_event("result", encode(body)))
        self.events.put_nowait(None)

    def _on_progress(self, done: float, total: float | None, message: str) -> None:
        self._report("progress", {"done": done, "total": total, "message": str(message)})

    def _report(self, kind: str, step: dict[str, Any]) -> None:
        """Report a step, from any thread."""
        self._loop.call_soon_threadsafe(self._put, kind, step)

    def _put(self, kind: str, step: dict[str, Any]) -> None:
        if self.events.qsize() < MAX_QUEUED_STEPS:
            self.events.put_nowait(format_event(kind, encode(self._runtime.state.redactor.mask(step))))
