"""The responses to calls and runs, also those that have ended as jobs."""

from typing import Any

from fastapi import Response

from onetool.domain.calls.call import ToolResult
from onetool.runtime.outcomes import Outcome
from onetool.runtime.runtime import CodeResult, Runtime

from .params import json_response
from .schemas.fields import camel_keys


async def outcome_response(
    runtime: Runtime, outcome: Outcome, status: int = 200, *, inline: bool
) -> Response:
    """Return the response to a call or a run."""
    body = await outcome_body(runtime, outcome, inline=inline)
    if inline or isinstance(outcome, CodeResult):  # it may be large
        return await runtime.threads.run(json_response, body, status)
    return json_response(body, status)


async def outcome_body(runtime: Runtime, outcome: Outcome, *, inline: bool) -> dict[str, Any]:
    """Return the body of the response to a call or a run. Its `value` or `data` are not converted to JSON.

    inline: whether `content` has the bytes of media.
    """
    if isinstance(outcome, ToolResult):
        return await _call_body(runtime, outcome, inline=inline)
    return await _run_body(runtime, outcome, inline=inline)


async def _call_body(runtime: Runtime, result: ToolResult, *, inline: bool) -> dict[str, Any]:
    data = result.to_json()
    body: dict[str, Any] = {"ok": result.error is None}
    body |= {"value": result.data} if result.error is None else {"error": data["error"]}
    if result.parts:
        output = runtime.state.model_output
        body["content"] = await output.render_parts(result.parts, result.meta.tool, inline=inline)
    body["meta"] = data["meta"]
    return body


async def _run_body(runtime: Runtime, result: CodeResult, *, inline: bool) -> dict[str, Any]:
    output = runtime.state.model_output
    text, handle = await output.render_run(result)
    calls = [camel_keys(call._asdict()) for call in result.calls]
    body: dict[str, Any] = result.to_json() | {"calls": calls, "text": text}
    if result.media:
        body["content"] = await output.render_parts(result.media, "run", inline=inline)
    return body | ({"handle": handle} if handle else {})
