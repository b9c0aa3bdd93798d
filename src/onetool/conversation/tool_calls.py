"""The tool calls of one turn: in order, in parallel if the settings and the tools allow it, or cached."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from onetool.catalog.catalog import ResolvedTool
from onetool.domain.calls.call import CallMeta, ToolCall, ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.chat.messages import Message, ToolCallRequest
from onetool.domain.chat.transcript import CachedResult, call_key
from onetool.domain.content.media import Media
from onetool.domain.content.parts import media_in
from onetool.domain.errors import Reason, ToolNotFound
from onetool.domain.text.json_text import is_json
from onetool.runtime.runtime import Runtime

from .result import EventHandler, ToolCallFinished, ToolCallStarted
from .tool_messages import make_message, result_for
from .toolset import Toolset, failed_result

MAX_CALLS = 32
"""Maximum number of calls in one turn. Further calls fail with an error."""


class CompletedCall(NamedTuple):
    """A call of the model with its result."""

    call: ToolCall
    result: ToolResult
    """What the user sees."""
    message: Message
    key: str = ""
    """Cache key of the result, or an empty string if it must not be cached."""
    media: Sequence[Media] = ()


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
            result = result._replace(meta=result.meta._replace(call_id=call.id))  # that of the model
        shown = result_for(result, "user")
        self._on_event(ToolCallFinished(call, shown))
        message = await make_message(call, result, self._runtime.state.model_output)
        if not result.ok or message.media or message.user_text is not None:
            key = ""  # only data that the model and the user both see is cached, and bytes are not stored
        if key:
            cache[key] = CachedResult(result.data)
        new_key = "" if result.meta.cached else key
        return CompletedCall(call, shown, message, new_key, media_in(result.parts))

    def _cache_key(self, planned: _PlannedCall) -> str:
        """Return the cache key, or an empty string unless the tool is cacheable, read-only and not denied."""
        resolved, state = planned.tool, self._runtime.state
        if resolved is None or not resolved.tool.spec.cacheable or not resolved.read_only:
            return ""
        spec, configuration = resolved.tool.spec, state.configuration
        policy = state.catalog.policy
        if policy.decide(spec, resolved.implementation.spec, self._caller).effect is not Effect.ALLOW:
            return ""
        return call_key(spec.qualified_name, spec.version, planned.call.args, str(configuration.paths.cwd))


def _parse_arguments(request: ToolCallRequest) -> tuple[dict[str, Any], str]:
    """Return the arguments, and what is wrong with them."""
    try:
        args = json.loads(request.arguments_text)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments of {request.name} are not valid JSON: {error}"
    if not isinstance(args, dict) or not is_json(args):
        return {}, f"the arguments of {request.name} must be a JSON object, such as {{}}."
    return args, ""
