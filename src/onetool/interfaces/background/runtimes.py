"""Runtimes of the background process: one for each working directory, opened on demand."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from onetool.runtime.runtime import Runtime

MAX_IDLE = 4
"""How many runtimes without a client stay open. Servers that none of them uses are stopped."""
OpenRuntime = Callable[[Path], AbstractAsyncContextManager[Runtime]]


class DirectoryRuntimes:
    """Opens a runtime for each working directory, because projects have settings and files of their own."""

    def __init__(self, open_runtime: OpenRuntime) -> None:
        self._open_runtime = open_runtime
        self._open: dict[Path, _OpenRuntime] = {}

    @asynccontextmanager
    async def use(self, cwd: Path) -> AsyncIterator[Runtime]:
        """Yield the runtime of a working directory.

        Raises:
            SettingsError: Its settings are invalid.
        """
        entry = self._open.pop(cwd, None)
        if entry is None or entry.task.done():
            entry = _OpenRuntime(self._open_runtime(cwd))
        self._open[cwd] = entry  # the most recently used one is the last
        entry.clients += 1
        try:
            yield await entry.wait()
        finally:
            entry.clients -= 1
            await self._close_idle()

    def all(self) -> dict[Path, Runtime]:
        """Return the runtimes that are open."""
        return {cwd: entry.runtime for cwd, entry in self._open.items() if entry.runtime is not None}

    async def aclose(self) -> None:
        """Close all runtimes."""
        entries = list(self._open.values())
        self._open.clear()
        await asyncio.gather(*(entry.aclose() for entry in entries))

    async def _close_idle(self) -> None:
        idle = [cwd for cwd, entry in self._open.items() if not entry.clients]
        for cwd in idle[: len(idle) - MAX_IDLE] if len(idle) > MAX_IDLE else []:
            await self._open.pop(cwd).aclose()


class _OpenRuntime:
    """A runtime and the task that opens and closes it."""

    def __init__(self, manager: AbstractAsyncContextManager[Runtime]) -> None:
        self.clients = 0
        self.runtime: Runtime | None = None
        self._ready: asyncio.Future[Runtime] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self.task = asyncio.create_task(self._run(manager))

    async def wait(self) -> Runtime:
        """Return the runtime once it is open."""
        return await asyncio.shield(self._ready)

    async def aclose(self) -> None:
        """Close the runtime and wait until it is closed."""
        self._stop.set()
        await asyncio.wait({self.task})

    async def _run(self, manager: AbstractAsyncContextManager[Runtime]) -> None:
        try:
            async with manager as self.runtime:
                self._ready.set_result(self.runtime)
                await self._stop.wait()
        except Exception as error:  # every caller that waits gets it; the next one tries again
            if self._ready.done():
                raise
            self._ready.set_exception(error)
            self._ready.exception()  # marks it as retrieved: the caller may have left
        finally:
            self.runtime = None
