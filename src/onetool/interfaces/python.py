"""The Python interface: `async with onetool_runtime() as ot`, or `with` without an event loop."""

import asyncio
import os
import threading
from collections.abc import Collection
from concurrent.futures import CancelledError, Future
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from onetool.bootstrap import open_runtime
from onetool.domain.calls.call import ToolResult
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import NoActiveRuntime
from onetool.runtime.runtime import Runtime
from onetool.settings.configuration import load_configuration
from onetool.settings.paths import find_paths

CLOSE_TIMEOUT_S = 30.0
"""Seconds that `__exit__` waits for servers to stop and for the last writes."""
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
        self._calls: set[Future[ToolResult]] = set()
        self._is_closed, self._lock = False, threading.Lock()

    def call(self, name: str, /, **args: Any) -> ToolResult:
        """Call a tool by name with keyword arguments.

        Raises:
            NoActiveRuntime: The `with` block has ended, perhaps on another thread during the call.
        """
        with self._lock:
            if self._is_closed:
                raise NoActiveRuntime(f"{name} was not called: the block of onetool_runtime has ended.")
            call = asyncio.run_coroutine_threadsafe(self._client.call(name, **args), self._loop)
            self._calls.add(call)
        try:
            return call.result()
        except CancelledError:
            raise NoActiveRuntime(f"{name} was cancelled: the block of onetool_runtime ended.") from None
        finally:
            self._calls.discard(call)

    def close(self) -> None:
        """Cancel the calls of other threads that are in progress, and reject new ones."""
        with self._lock:
            self._is_closed, calls = True, list(self._calls)
        for call in calls:
            call.cancel()


class onetool_runtime:  # noqa: N801 - used like a function: with onetool_runtime() as ot
    """Run OneTool in a `with` block, with the settings of the user and the working directory.

    Logging: OneTool writes and redacts the records of loggers under `onetool`. The root logger and all
    others stay as the program set them up: secrets in the records of packs and libraries are not redacted.

    Args:
        allowed: Names of the tools that may be called. Default: all.
    """

    def __init__(self, *, allowed: Collection[str] | None = None) -> None:
        names = None if allowed is None else frozenset(allowed)
        self._caller = Caller(interface="python", allowed=names, default_effect=Effect.ALLOW)
        self._stack = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: Client | None = None

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
            client = asyncio.run_coroutine_threadsafe(self.__aenter__(), loop).result()
        except BaseException:
            self._stop()
            raise
        self._client = Client(client, loop)
        return self._client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._client is not None:
            self._client.close()
            closing = asyncio.run_coroutine_threadsafe(self._stack.aclose(), self._loop)
            with suppress(TimeoutError):
                closing.result(CLOSE_TIMEOUT_S)
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
