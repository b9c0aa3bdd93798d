"""OneTool from Python: `async with onetool_runtime() as ot`, or `with` where there is no event loop."""

import asyncio
import os
import threading
from collections.abc import Collection
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from onetool.bootstrap import open_runtime
from onetool.domain.call import ToolResult
from onetool.domain.caller import Caller, grant
from onetool.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.places import find_places

LAST_WORDS = 2.0
"""Seconds that leaving the block waits for its event loop to end."""


class AsyncTools:
    """Calls tools; a failed call is a ToolResult with `ok` False, never an exception."""

    def __init__(self, runtime: Runtime, caller: Caller) -> None:
        self._runtime, self._caller = runtime, caller

    async def call(self, name: str, /, **args: Any) -> ToolResult:
        """Call a tool by its name; the arguments are keywords."""
        return await self._runtime.call(self._runtime.new_call(name, args, "python"), self._caller)


class Tools:
    """The same for code without an event loop: one runs on a thread behind it."""

    def __init__(self, tools: AsyncTools, loop: asyncio.AbstractEventLoop) -> None:
        self._tools, self._loop = tools, loop

    def call(self, name: str, /, **args: Any) -> ToolResult:
        """Call a tool by its name; the arguments are keywords."""
        return asyncio.run_coroutine_threadsafe(self._tools.call(name, **args), self._loop).result()


class onetool_runtime:  # noqa: N801 - used like a function: with onetool_runtime() as ot
    """Start OneTool for as long as the block lasts, with the settings of this user and directory.

    allowed: names of the only tools that may be called; all when not given.
    """

    def __init__(self, *, allowed: Collection[str] | None = None) -> None:
        only = None if allowed is None else frozenset(allowed)
        self._caller = Caller(door="python", allowed=only, approve=grant)
        self._stack = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def __aenter__(self) -> AsyncTools:
        places = find_places(os.environ, Path.cwd())
        opened = open_runtime(lambda: load_configuration(places, os.environ))
        return AsyncTools(await self._stack.enter_async_context(opened), self._caller)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def __enter__(self) -> Tools:
        self._loop = loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_serve, args=(loop,), name="onetool-loop", daemon=True)
        self._thread.start()
        try:
            return Tools(asyncio.run_coroutine_threadsafe(self.__aenter__(), loop).result(), loop)
        except BaseException:
            self._stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop).result()
        self._stop()

    def _stop(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(LAST_WORDS)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
