"""Callbacks for code in the sandbox: tool calls for its caller, and waiting."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from onetool.domain.calls.call import ToolResult
from onetool.domain.code.sandbox import CallOutcome
from onetool.domain.content.media import Media
from onetool.domain.content.parts import media_in
from onetool.domain.text.json_text import check_size, encode
from onetool.domain.text.yaml_text import YamlList, YamlMap

from .code_runner import NestedCall, SuccessfulCall, to_call_outcome

CallTool = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
MAX_LISTED_CALLS = 1_000
"""Maximum number of calls in `nested_calls`. Later calls are only counted."""
MAX_KEPT_BYTES = 16 * 2**20
"""Total size of the results in `finished_calls`. The oldest are dropped first."""


class SandboxCallbacks:
    """Runs requests of the sandbox's threads on the event loop, and lists the calls of one run."""

    def __init__(self, call_tool: CallTool, loop: asyncio.AbstractEventLoop, max_args_bytes: int) -> None:
        self.call_count = 0
        self.nested_calls: list[NestedCall] = []
        """The first calls that finished."""
        self.finished_calls: deque[SuccessfulCall] = deque()
        """The last successful calls, with their results."""
        self._kept_bytes = 0
        self._call_tool, self._loop, self._max_args_bytes = call_tool, loop, max_args_bytes

    def call(self, name: str, args: Mapping[str, Any]) -> "Future[CallOutcome]":
        """Start a tool call."""
        self.call_count += 1
        return asyncio.run_coroutine_threadsafe(self._call(name, args), self._loop)

    def sleep(self, seconds: float) -> "Future[CallOutcome]":
        """Start a wait."""
        return asyncio.run_coroutine_threadsafe(_sleep(seconds), self._loop)

    def restore(self, value: Any) -> Any:
        """Return the `YamlMap` or `YamlList` that a call of this run returned, if it equals the value."""
        for call in reversed(tuple(self.finished_calls)):  # a copy, because the event loop may change it
            if isinstance(call.value, YamlMap | YamlList) and call.value == value:
                return call.value
        return value

    def media_beside(self, value: Any) -> Sequence[Media]:
        """Return the media that a tool returned beside the value, if it is the whole result of a call."""
        calls = reversed(self.finished_calls)
        return next((call.beside for call in calls if call.beside and call.value == value), ())

    async def _call(self, name: str, args: Mapping[str, Any]) -> CallOutcome:
        try:
            check_size(args, self._max_args_bytes * 2)
        except ValueError as error:
            return CallOutcome(None, "ValueError", f"Invalid arguments for {name}: {error}.")
        result = await self._call_tool(name, args)
        if len(self.nested_calls) < MAX_LISTED_CALLS:
            self.nested_calls.append(NestedCall(result.meta.tool, result.ok, result.meta.duration_ms))
        outcome = to_call_outcome(result)
        if result.ok:
            value = result.data if isinstance(result.data, YamlMap | YamlList) else outcome.value
            media = media_in(result.parts)
            size = len(encode(value)) + sum(item.size for item in media)
            beside = tuple([item for item in media if item not in result.media])
            self._keep(SuccessfulCall(result.meta.tool, args, value, size, beside))
        return outcome

    def _keep(self, call: SuccessfulCall) -> None:
        self.finished_calls.append(call)
        self._kept_bytes += call.size_bytes
        while self._kept_bytes > MAX_KEPT_BYTES and len(self.finished_calls) > 1:
            self._kept_bytes -= self.finished_calls.popleft().size_bytes


async def _sleep(seconds: float) -> CallOutcome:
    await asyncio.sleep(seconds)
    return CallOutcome()
