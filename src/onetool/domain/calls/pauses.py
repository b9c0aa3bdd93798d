"""Pauses of a call: while it waits for an answer, no time passes for it and it occupies no slot."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol


class Occupied(Protocol):
    """Something that a running call occupies, such as a slot. Both methods can be repeated and overlap."""

    def release(self) -> None:
        """Leave it to other calls."""
        ...

    async def acquire(self, *, waits: bool) -> None:
        """Occupy it again, if it was not released meanwhile.

        waits: whether to wait until it is free. Otherwise the call continues without it.
        """
        ...


class Pauses:
    """The pauses of one outermost call and its nested calls. Several of them may overlap."""

    __slots__ = ("_clock", "_occupied", "_open", "_paused", "_since", "_total")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open, self._since, self._total = 0, 0.0, 0.0
        self._occupied: list[Occupied] = []
        """What the outermost call occupies: every pause releases it."""
        self._paused = Counter[Occupied]()
        """What nested calls occupy that pause now, with the number of their pauses."""

    def fresh(self) -> "Pauses":
        """Return the pauses of another call, on the same clock."""
        return Pauses(self._clock)

    @property
    def seconds(self) -> float:
        """How long the call has waited so far."""
        return self._total + (self._clock() - self._since if self._open else 0.0)

    def add(self, occupied: Occupied) -> None:
        """Release something during all pauses."""
        self._occupied.append(occupied)
        if self._open:
            occupied.release()

    def remove(self, occupied: Occupied) -> None:
        """Do not touch it any more."""
        self._occupied.remove(occupied)

    @asynccontextmanager
    async def pause(self, nested: Sequence[Occupied] = ()) -> AsyncIterator[None]:
        """Pause for the block.

        nested: what the nested call that pauses occupies, and those around it. Calls beside it do not pause.
        """
        if not self._open:
            self._since = self._clock()
        self._open += 1
        self._paused.update(nested)
        for occupied in (*self._occupied, *nested):
            occupied.release()
        waits = True
        try:
            yield
        except asyncio.CancelledError:
            waits = False  # the call ends now, even if no slot is free
            raise
        finally:
            await self._end(nested, waits=waits)

    async def _end(self, nested: Sequence[Occupied], *, waits: bool) -> None:
        self._open -= 1
        if not self._open:
            self._total += self._clock() - self._since
        self._paused -= Counter(nested)
        for occupied in (*self._occupied, *nested):
            if not self._is_paused(occupied):
                await occupied.acquire(waits=waits)

    def _is_paused(self, occupied: Occupied) -> bool:
        """Return whether another pause is open, perhaps since a moment ago."""
        return occupied in self._paused or (self._open > 0 and occupied in self._occupied)
