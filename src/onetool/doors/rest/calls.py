"""Calls over REST: a version of a stored tool, or any tool by its name; as one answer, or as a stream."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from onetool.domain.bundle import BundleError
from onetool.domain.call import ToolResult
from onetool.domain.caller import Caller, grant
from onetool.domain.errors import ErrorCode
from onetool.domain.json_text import encode
from onetool.runtime import Runtime

from .problems import STATUS_OF_REASON, documented, failed_call, status_of
from .queries import BundleID, Slug, Version
from .shapes import CallAnswer, CallBody, InvokeBody
from .streams import STREAM, event

STEPS_KEPT = 1_000
"""How many messages wait for a slow reader; further ones are left out."""
Step = tuple[str, dict[str, Any]]
"""What is told on the way: the kind of event, and its data."""
ANSWERS: dict[int | str, dict[str, Any]] = {
    **{status: {"model": CallAnswer} for status in (400, 403, 404, 409, 429)},
    200: {"content": {STREAM: {}}, "model": CallAnswer},
    **{status: documented()[status] for status in (401, 413)},
}


def call_routes(runtime: Runtime) -> APIRouter:
    """Make the routes that call tools."""
    routes = APIRouter(tags=["calls"])

    @routes.post(
        "/tools/bundles/{bundleID}/tools/{toolSlug}/version/{version}/invoke",
        response_model=CallAnswer,
        responses=ANSWERS,
    )
    async def invoke(
        bundle_id: BundleID,
        slug: Slug,
        version: Version,
        body: InvokeBody,
        request: Request,
    ) -> Response:
        """Call a version of a tool. `Accept: text/event-stream` streams its progress and the requests
        that it sends, then the answer."""
        try:
            name = await runtime.bundles.name_of((bundle_id, slug, version))
        except BundleError as error:
            code = ErrorCode.INVALID_ARGS if status_of(error) == 400 else ErrorCode.TOOL_NOT_FOUND
            return failed_call(status_of(error), code, str(error), slug[:100])
        return await _answer(runtime, name, body.args, request)

    @routes.post("/tools/call", response_model=CallAnswer, responses=ANSWERS)
    async def call(body: CallBody, request: Request) -> Response:
        """Call any tool by its name: `pack.func`, `pack.func@version` or an alias."""
        return await _answer(runtime, body.name, body.args, request)

    return routes


async def _answer(runtime: Runtime, name: str, args: Mapping[str, Any], request: Request) -> Response:
    if STREAM in request.headers.get("accept", ""):
        return StreamingResponse(_events(runtime, name, args), media_type=STREAM)
    caller = Caller(door="rest", approve=grant)
    return _reply(await runtime.call(runtime.new_call(name, args, "rest"), caller))


def _reply(result: ToolResult) -> Response:
    status = STATUS_OF_REASON[result.meta.reason] if result.meta.reason else 200
    return Response(encode(_body(result)), status, media_type="application/json")


def _body(result: ToolResult) -> dict[str, Any]:
    shown = result.to_json()
    meta = shown["meta"]
    if result.error is None:
        return {"ok": True, "value": result.data, "meta": meta}
    return {"ok": False, "error": shown["error"], "meta": meta}


async def _events(runtime: Runtime, name: str, args: Mapping[str, Any]) -> AsyncIterator[bytes]:
    """Progress and requests as they are reported, then the result; a reader that leaves ends the call."""
    loop = asyncio.get_running_loop()
    told: asyncio.Queue[Step] = asyncio.Queue(STEPS_KEPT)

    def put(kind: str, step: dict[str, Any]) -> None:
        if not told.full():
            told.put_nowait((kind, step))

    def progress(done: float, total: float | None, message: str) -> None:
        step = {"done": done, "total": total, "message": str(message)}
        loop.call_soon_threadsafe(put, "progress", step)

    def sent(request: str) -> None:
        loop.call_soon_threadsafe(put, "request", {"text": request})

    caller = Caller(door="rest", approve=grant, progress=progress, sent=sent)
    running = loop.create_task(runtime.call(runtime.new_call(name, args, "rest"), caller))
    try:
        async for kind, step in _until(running, told):
            yield event(kind, encode(runtime.masked(step)))
        yield event("result", encode(_body(await running)))
    finally:
        running.cancel()


async def _until(running: "asyncio.Task[ToolResult]", told: "asyncio.Queue[Step]") -> AsyncIterator[Step]:
    """What is told until the call is over, the last words included."""
    while True:
        next_one = asyncio.ensure_future(told.get())
        await asyncio.wait({running, next_one}, return_when=asyncio.FIRST_COMPLETED)
        if next_one.done():
            yield next_one.result()
        else:
            next_one.cancel()
            await asyncio.sleep(0)  # what was reported from a thread just before the end
        if running.done():
            break
    while not told.empty():
        yield told.get_nowait()
