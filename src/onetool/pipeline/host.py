"""What code in the sandbox may ask for: calls on its caller's behalf, and waits."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Any

from onetool.domain.call import ToolResult
from onetool.domain.json_text import check_size
from onetool.domain.sandbox import Answer

from .code import CallMade, answer_of

Call = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
REMEMBERED = 1_000
"""Calls of one run that are remembered; those after them are only counted."""


class CodeHost:
    """Answers the sandbox's threads with what the event loop does for them; remembers the calls."""

    def __init__(self, call: Call, loop: asyncio.AbstractEventLoop, most_bytes: int) -> None:
        self.calls = 0
        self.made: list[CallMade] = []
        """The first calls that have ended."""
        self._call_tool, self._loop, self._most_bytes = call, loop, most_bytes

    def call(self, name: str, args: Mapping[str, Any]) -> "Future[Answer]":
        """Call a tool."""
        self.calls += 1
        return asyncio.run_coroutine_threadsafe(self._call(name, args), self._loop)

    def sleep(self, seconds: float) -> "Future[Answer]":
        """Wait."""
        return asyncio.run_coroutine_threadsafe(_sleep(seconds), self._loop)

    async def _call(self, name: str, args: Mapping[str, Any]) -> Answer:
        try:
            check_size(args, self._most_bytes * 2)
        except ValueError as error:
            return Answer(None, "ValueError", f"The arguments for {name} cannot be taken: {error}.")
        result = await self._call_tool(name, args)
        if len(self.made) < REMEMBERED:
            self.made.append(CallMade(result.meta.tool, result.ok, result.meta.duration_ms))
        return answer_of(result)


async def _sleep(seconds: float) -> Answer:
    await asyncio.sleep(seconds)
    return Answer()
