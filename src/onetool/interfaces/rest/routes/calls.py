"""Routes that call tools, with a JSON response or as a stream of events."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from onetool.domain.bundles.bundle import BundleError
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller, always_approve
from onetool.domain.errors import ErrorCode
from onetool.domain.text.json_text import encode
from onetool.interfaces.rest.params import BundleID, Slug, Version
from onetool.interfaces.rest.problems import STATUS_BY_REASON, call_failure, problem_responses, status_for
from onetool.interfaces.rest.schemas.calls import CallBody, CallResponse, InvokeBody
from onetool.interfaces.rest.sse import EVENT_STREAM, format_event
from onetool.runtime.runtime import Runtime

MAX_QUEUED_STEPS = 1_000
"""Steps that wait for a slow client; further ones are dropped."""
Step = tuple[str, dict[str, Any]]
"""The kind of an event and its data."""
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
        return StreamingResponse(_events(runtime, name, args), media_type=EVENT_STREAM)
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


async def _events(runtime: Runtime, name: str, args: Mapping[str, Any]) -> AsyncIterator[bytes]:
    """Yield progress and requests, then the result. Cancels the call when the client disconnects."""
    loop = asyncio.get_running_loop()
    steps: asyncio.Queue[Step] = asyncio.Queue(MAX_QUEUED_STEPS)

    def put(kind: str, step: dict[str, Any]) -> None:
        if not steps.full():
            steps.put_nowait((kind, step))

    def on_progress(done: float, total: float | None, message: str) -> None:
        step = {"done": done, "total": total, "message": str(message)}
        loop.call_soon_threadsafe(put, "progress", step)

    def on_request(request: str) -> None:
        loop.call_soon_threadsafe(put, "request", {"text": request})

    caller = Caller(interface="rest", approve=always_approve, on_progress=on_progress, on_request=on_request)
    task = loop.create_task(runtime.call_tool(name, args, caller, "rest"))
    try:
        async for kind, step in _steps_until_done(task, steps):
            yield format_event(kind, encode(runtime.state.redactor.mask(step)))
        yield format_event("result", encode(_body(await task)))
    finally:
        task.cancel()


async def _steps_until_done(
    task: "asyncio.Task[ToolResult]", steps: "asyncio.Queue[Step]"
) -> AsyncIterator[Step]:
    """Yield steps until the task is done, including those that are queued at that time."""
    while True:
        next_step = asyncio.ensure_future(steps.get())
        await asyncio.wait({task, next_step}, return_when=asyncio.FIRST_COMPLETED)
        if next_step.done():
            yield next_step.result()
        else:
            next_step.cancel()
            await asyncio.sleep(0)  # deliver steps that a thread reported just before the end
        if task.done():
            break
    while not steps.empty():
        yield steps.get_nowait()
