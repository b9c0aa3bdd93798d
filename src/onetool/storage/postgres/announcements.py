"""What processes announce to each other about single things: a job, a session of a client."""

import asyncio
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Literal, get_args

Kind = Literal["job", "session"]
KINDS: tuple[str, ...] = get_args(Kind)
MAX_NUMBERS = 10_000
"""How many things of a workspace have a number in memory."""


class Announcements:
    """Numbers the announcements about the things of a workspace, and wakes those who wait for one.

    Used by several threads. No number is used twice.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last, self._epoch = 0, 0
        self._numbers: dict[tuple[str, str], int] = {}
        self._waiting: dict[tuple[str, str], set[Callable[[], None]]] = {}

    def number(self, kind: Kind, id: str) -> Hashable:
        """Return a value that changes when something is announced, or when announcements may be missing."""
        return self._epoch, self._numbers.get((kind, id))

    def note(self, kind: str, id: str) -> None:
        """Note an announcement."""
        with self._lock:
            if len(self._numbers) >= MAX_NUMBERS:
                self._numbers.clear()
                self._epoch += 1
            self._last += 1
            self._numbers[kind, id] = self._last
            waiting = list(self._waiting.get((kind, id), ()))
        for wake in waiting:
            wake()

    def note_missed(self) -> None:
        """Note that anything may have been announced."""
        with self._lock:
            self._numbers.clear()
            self._epoch += 1
            waiting = [wake for callbacks in self._waiting.values() for wake in callbacks]
        for wake in waiting:
            wake()

    async def wait(self, kind: Kind, id: str, seen: Hashable, seconds: float) -> None:
        """Return when the number is not `seen` any more, or after some seconds."""
        changed, loop = asyncio.Event(), asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(changed.set)

        with self._lock:
            self._waiting.setdefault((kind, id), set()).add(wake)
        try:
            if self.number(kind, id) == seen:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await changed.wait()
        finally:
            with self._lock:
                callbacks = self._waiting[kind, id]
                callbacks.discard(wake)
                if not callbacks:
                    del self._waiting[kind, id]
