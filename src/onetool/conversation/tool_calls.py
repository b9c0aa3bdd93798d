"""The tool calls of one turn: in order, in parallel if the settings and the tools allow it, or cached."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from onetool.catalog.catalog import ResolvedTool
from onetool.domain.calls.call import CallMeta, ToolCall, ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.chat.messages import Message, ToolCallRequest
from onetool.domain.chat.transcript import CachedResult, call_key
from onetool.domain.errors import Reason, ToolNotFound
from onetool.domain.text.json_text import is_json
from onetool.runtime.runtime import Runtime

from .result import EventHandler, ToolCallFinished, ToolCallStarted
from .toolset import Toolset, failed_result

MAX_CALLS = 32
"""Maximum number of calls in one turn. Further calls fail with an error."""


class CompletedCall(NamedTuple):
    """A call of the model with its result."""

    call: ToolCall
    result: ToolResult
    message: Message
    key: str = ""
    """Cache key of the result, or an empty string if it must not be cached."""


class _PlannedCall(NamedTuple):
    request: ToolCallRequest
    call: ToolCall
    problem: str
    """Why the call is invalid, or an empty string."""
    tool: ResolvedTool | None

    @property
    def is_parallel(self) -> bool:
        return self.tool is not None and self.tool.read_only and self.tool.tool.spec.parallel


class ToolCallRunner:
    """Runs the calls that a model requests."""

    def __init__(self, runtime: Runtime, toolset: Toolset, caller: Caller, on_event: EventHandler) -> None:
        self._runtime, self._toolset, self._caller, self._on_event = runtime, toolset, caller, on_event

    async def run(
        self, requests: Sequence[ToolCallRequest], cache: dict[str, CachedResult]
    ) -> AsyncIterator[CompletedCall]:
        """Run all calls of a turn. A failed call does not affect the others."""
        planned = [await self._plan(request, number) for number, request in enumerate(requests)]
        is_allowed = self._runtime.state.configuration.settings.ask.parallel
        for is_parallel, group in groupby(planned, lambda call: is_allowed and call.is_parallel):
            if is_parallel:
                for completed in await asyncio.gather(*(self._run_call(call, cache) for call in group)):
                    yield completed
            else:
                for call in group:
                    yield await self._run_call(call, cache)

    async def _plan(self, request: ToolCallRequest, number: int) -> _PlannedCall:
        args, problem = _parse_arguments(request)
        if number >= MAX_CALLS:
            problem = f"more than {MAX_CALLS} calls in one turn. Make the other calls in the next turn."
        call = ToolCall(id=request.id, name=request.name, args=args, source="ask")
        return _PlannedCall(request, call, problem, await self._resolve(request.name))

    async def _resolve(self, name: str) -> ResolvedTool | None:
        try:
            return await self._runtime.state.catalog.resolve(name, self._caller)
        except ToolNotFound:  # the call reports it, or the toolset defines the tool itself
            return None

    async def _run_call(self, planned: _PlannedCall, cache: dict[str, CachedResult]) -> CompletedCall:
        call, key = planned.call, self._cache_key(planned)
        self._on_event(ToolCallStarted(call))
        if planned.problem:
            result = failed_result(call, Reason.BAD_ARGS, planned.problem)
        elif key in cache:
            result = ToolResult(True, CallMeta(call.name, call.id, 0.0, cached=True), cache[key].data)
        else:
            result = await self._toolset.call(call, self._caller)
        self._on_event(ToolCallFinished(call, result))
        text = await self._render(result)
        if key and result.ok:
            cache[key] = CachedResult(result.data)
        message = Message(role="tool", text=text, call_id=call.id, name=call.name, failed=not result.ok)
        return CompletedCall(call, result, message, key if result.ok and not result.meta.cached else "")

    def _cache_key(self, planned: _PlannedCall) -> str:
        """Return the cache key, or an empty string unless the tool is cacheable, read-only and not denied."""
        if planned.tool is None:
            return ""
        spec, configuration = planned.tool.tool.spec, self._runtime.state.configuration
        deny = configuration.settings.approval.deny
        if not spec.cacheable or not planned.tool.read_only or planned.tool.matches(deny):
            return ""
        return call_key(spec.qualified_name, spec.version, planned.call.args, str(configuration.paths.cwd))

    async def _render(self, result: ToolResult) -> str:
        """Return the text for the model: a large result as a preview and a handle."""
        if result.error is not None:
            return f"Error: {result.error.message.removeprefix('Error: ')}"
        return (await self._runtime.state.model_output.render_value(result.data, result.meta.tool)).text


def _parse_arguments(request: ToolCallRequest) -> tuple[dict[str, Any], str]:
    """Return the arguments, and what is wrong with them."""
    try:
        args = json.loads(request.arguments_text)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments of {request.name} are not valid JSON: {error}"
    if not isinstance(args, dict) or not is_json(args):
        return {}, f"the arguments of {request.name} must be a JSON object, such as {{}}."
    return args, ""
