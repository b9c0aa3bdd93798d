"""Await a tool's coroutine up to a deadline, and let go of one that ignores being cancelled.

A coroutine may swallow CancelledError and go on for ever; whoever awaits it would wait as long. A task
of its own for each call would break that wait at the price of two turns of the event loop. Here the
coroutine is driven step by step in the caller's task: at its deadline it is cancelled and has a moment to
clean up, then it is closed and never stepped again. A caller that is cancelled itself passes that on to
the tool, and waits no longer than the deadline for it.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from types import coroutine as awaitable
from typing import Any, TypeVar

T = TypeVar("T")
GRACE = 0.5
"""Seconds that a cancelled tool has for cleaning up."""
TICK = 0.02
"""Seconds by which a deadline may be noticed late."""


class Timekeeper:
    """One timer for all running calls: a timer for each would cost more than most of the pipeline."""

    def __init__(self) -> None:
        self._running: set[Leash] = set()
        self._is_ticking = False

    def start(self, leash: "Leash") -> None:
        """Expire the leash when its deadline has come."""
        self._running.add(leash)
        if not self._is_ticking:
            self._is_ticking = True
            leash.loop.call_later(TICK, self._tick, leash.loop)

    def stop(self, leash: "Leash") -> None:
        """Take no more notice of the leash."""
        self._running.discard(leash)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for leash in [leash for leash in self._running if leash.deadline <= now]:
            self._running.discard(leash)
            leash.expire()
        self._is_ticking = bool(self._running)
        if self._is_ticking:
            loop.call_later(TICK, self._tick, loop)


class Leash:
    """Cancels the task when it is expired, and once more when that has had no effect."""

    __slots__ = (
        "_before",
        "_cancelled",
        "_grace",
        "_over",
        "_task",
        "_timekeeper",
        "deadline",
        "expired",
        "loop",
    )

    def __init__(self, deadline: float, timekeeper: Timekeeper) -> None:
        self.deadline, self._timekeeper = deadline, timekeeper
        self.loop = asyncio.get_running_loop()
        task = asyncio.current_task(self.loop)
        if task is None:
            raise RuntimeError("A tool is called from within a task.")
        self._task = task
        self._before = task.cancelling()
        self._grace: asyncio.TimerHandle | None = None
        self._over = self.expired = False
        timekeeper.start(self)

    @awaitable
    def walk(self, tool: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Drive the coroutine to its end, or to the end of its grace; `drop` must follow."""
        error: BaseException | None = None
        try:
            while True:
                waits_for = tool.send(None) if error is None else tool.throw(error)
                try:
                    yield waits_for
                    error = None
                except asyncio.CancelledError as cancelled:
                    if self._over:
                        raise
                    error = cancelled
                except BaseException as raised:  # noqa: BLE001 - what the tool waited for failed: its own affair
                    error = raised
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            with suppress(BaseException):
                tool.close()

    def drop(self) -> bool:
        """Take back the cancellations that came from here; tell whether there is another one."""
        self._timekeeper.stop(self)
        if self._grace is not None:
            self._grace.cancel()
        if self.expired:
            self._task.uncancel()
        if self._over:
            self._task.uncancel()
        return self._task.cancelling() > self._before

    def expire(self) -> None:
        """Cancel the task: its time is over, and what is left is a moment to clean up."""
        self.expired = True
        self._task.cancel()
        self._grace = self.loop.call_later(GRACE, self._run_out)

    def _run_out(self) -> None:
        self._over = True
        self._task.cancel()
