"""Open workspaces: each is opened when it is needed, once, and closed when it was idle for a while."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Generic, TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")

MAX_OPEN = 2_000
IDLE_S = 900.0
CHECK_INTERVAL_S = 30.0
MAX_CLOSING = 8
"""Workspaces that are closed at a time when all are closed."""


class OpenWorkspaces(Generic[T]):
    """Holds what was opened for each workspace, the least recently used first.

    What is in use is never closed, so that there may be more than the maximum for a while.
    """

    def __init__(
        self,
        open: Callable[[str], AbstractAsyncContextManager[T]],
        *,
        max_open: int = MAX_OPEN,
        idle_s: float = IDLE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """open: opens a workspace by its slug. The task that opens it also closes it."""
        self._open, self._max_open, self._idle_s, self._clock = open, max_open, idle_s, clock
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._entries)

    @asynccontextmanager
    async def use(self, slug: str) -> AsyncIterator[T]:
        """Open a workspace, or use the open one, which stays open for the block.

        What `open` raises propagates, and the next use tries again.
        """
        entry = self._entries.get(slug)
        if entry is None:
            entry = self._entries[slug] = _Entry(self._open(slug))
        self._entries.move_to_end(slug)
        entry.users += 1
        try:
            yield await asyncio.shield(entry.opened)
        except BaseException:
            if entry.has_failed and self._entries.get(slug) is entry:
                del self._entries[slug]
            raise
        finally:
            entry.users -= 1
            entry.used_at = self._clock()
            self._close_surplus()

    def close_idle(self) -> None:
        """Close the workspaces that were not used for a while."""
        before = self._clock() - self._idle_s
        for slug, entry in list(self._entries.items()):
            if not entry.users and entry.used_at < before:
                self._close(slug)

    async def watch(self) -> None:
        """Close idle workspaces from time to time, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            self.close_idle()

    async def aclose(self) -> None:
        """Close all workspaces, a few at a time: each has little time to write what is not written yet."""
        while self._entries:
            closing = {task for task in self._closing if not task.done()}
            if len(closing) < MAX_CLOSING:
                self._close(next(iter(self._entries)))
            else:
                await asyncio.wait(closing, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _close_surplus(self) -> None:
        surplus = len(self._entries) - self._max_open
        idle = [slug for slug, entry in self._entries.items() if not entry.users] if surplus > 0 else []
        for slug in idle[:surplus]:
            self._close(slug)

    def _close(self, slug: str) -> None:
        entry = self._entries.pop(slug)
        entry.close()
        self._closing.add(entry.task)
        entry.task.add_done_callback(self._closing.discard)


class _Entry(Generic[T]):
    """One workspace, and the task that opens it and closes it."""

    def __init__(self, opening: AbstractAsyncContextManager[T]) -> None:
        loop = asyncio.get_running_loop()
        self.users, self.used_at = 0, 0.0
        self.opened: asyncio.Future[T] = loop.create_future()
        self._is_unused = asyncio.Event()
        self.task = loop.create_task(self._hold(opening))

    @property
    def has_failed(self) -> bool:
        """Whether it could not be opened."""
        return self.opened.done() and not self.opened.cancelled() and self.opened.exception() is not None

    def close(self) -> None:
        """Close it soon."""
        self._is_unused.set()

    async def _hold(self, opening: AbstractAsyncContextManager[T]) -> None:
        try:
            async with opening as workspace:
                self.opened.set_result(workspace)
                await self._is_unused.wait()
        except Exception as error:  # noqa: BLE001 - root of a task: its users get the error
            if self.opened.done():
                log.error("closing a workspace failed: %s: %s", type(error).__name__, error)
            else:
                self.opened.set_exception(error)
                with suppress(Exception):
                    self.opened.exception()  # seen, also if every user has stopped to wait
