"""The Python interface: `async with onetool_runtime() as ot`, or `with` without an event loop."""

import asyncio
import os
import threading
from collections.abc import Collection
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from onetool.bootstrap import open_runtime
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller, always_approve
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths

LOOP_STOP_TIMEOUT_S = 2.0
"""Seconds that `__exit__` waits for the event loop thread."""


class AsyncClient:
    """Calls tools. A failed call returns a ToolResult with `ok` False instead of raising."""

    def __init__(self, runtime: Runtime, caller: Caller) -> None:
        self._runtime, self._caller = runtime, caller

    async def call(self, name: str, /, **args: Any) -> ToolResult:
        """Call a tool by name with keyword arguments."""
        return await self._runtime.call_tool(name, args, self._caller, "python")


class Client:
    """The same for synchronous code. Calls run in an event loop on a background thread."""

    def __init__(self, client: AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
        self._client, self._loop = client, loop

    def call(self, name: str, /, **args: Any) -> ToolResult:
        """Call a tool by name with keyword arguments."""
        return asyncio.run_coroutine_threadsafe(self._client.call(name, **args), self._loop).result()


class onetool_runtime:  # noqa: N801 - used like a function: with onetool_runtime() as ot
    """Run OneTool in a `with` block, with the settings of the user and the working directory.

    Logging: OneTool writes and redacts the records of loggers under `onetool`. The root logger and all
    others stay as the program set them up: secrets in the records of packs and libraries are not redacted.

    Args:
        allowed: Names of the tools that may be called. Default: all.
    """

    def __init__(self, *, allowed: Collection[str] | None = None) -> None:
        names = None if allowed is None else frozenset(allowed)
        self._caller = Caller(interface="python", allowed=names, approve=always_approve)
        self._stack = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def __aenter__(self) -> AsyncClient:
        paths = find_paths(os.environ, Path.cwd())
        runtime = open_runtime(lambda: load_configuration(paths, os.environ))
        return AsyncClient(await self._stack.enter_async_context(runtime), self._caller)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def __enter__(self) -> Client:
        self._loop = loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_run_loop, args=(loop,), name="onetool-loop", daemon=True)
        self._thread.start()
        try:
            return Client(asyncio.run_coroutine_threadsafe(self.__aenter__(), loop).result(), loop)
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
            self._thread.join(LOOP_STOP_TIMEOUT_S)


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()
