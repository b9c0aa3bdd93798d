"""A counting semaphore whose fast path needs no coroutine."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.pauses import Pauses


class AnySlots(Protocol):
    """Slots of which a call may occupy one."""

    def try_acquire(self) -> bool:
        """Acquire a slot if one is free."""
        ...

    async def wait(self, deadline: float | None) -> None:
        """Wait for a slot and acquire it.

        Raises:
            TimeoutError: No slot became free before the deadline.
        """
        ...

    def release(self) -> None:
        """Release a slot."""
        ...


async def wait_for_slot(slots: AnySlots, waiter: "asyncio.Future[None]", deadline: float | None) -> None:
    """Wait until `waiter` is given a slot.

    Raises:
        TimeoutError: It was given none before the deadline.
    """
    try:
        async with asyncio.timeout_at(deadline):
            await waiter
    except BaseException:
        if not waiter.cancelled():  # a slot was assigned at the same moment
            slots.release()
        raise


class Slots:
    """A number of slots, with a first-in-first-out queue of waiters.

    Unlike with `asyncio.Semaphore`, acquiring a free slot is a plain function call: it happens on every call.
    """

    __slots__ = ("__weakref__", "_free", "_waiters", "size")

    def __init__(self, size: int) -> None:
        self.size = self._free = size
        self._waiters: deque[asyncio.Future[None]] = deque()

    def resize(self, size: int) -> None:
        """Change the number of slots. If more are in use, none is free until enough of them are released."""
        self._free += size - self.size
        self.size = size
        self._assign()

    def try_acquire(self) -> bool:
        """Acquire a slot if one is free. While tasks wait, none is: `release` gives slots to them first."""
        if self._free <= 0:
            return False
        self._free -= 1
        return True

    async def wait(self, deadline: float | None) -> None:
        """Wait in the queue and acquire a slot.

        Raises:
            TimeoutError: No slot became free before the deadline.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await wait_for_slot(self, waiter, deadline)

    def release(self) -> None:
        """Release a slot: assign it to the first waiter, if there is one."""
        self._free += 1
        self._assign()

    def _assign(self) -> None:
        while self._waiters and self._free > 0:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._free -= 1


class SlotLease:
    """The slots of one call, from `open` to `close`, except while the call is paused."""

    __slots__ = ("_acquired", "_acquiring", "_is_closed", "_is_paused", "_pauses", "_slots", "blocked_by")

    def __init__(self, slots: Sequence[AnySlots], pauses: Pauses | None) -> None:
        """pauses: those of an outermost call. A nested call pauses only if it asks: `Caller.occupying`."""
        self._slots, self._pauses = slots, pauses if slots else None
        self._acquired = 0
        self._is_paused = self._is_closed = False
        self._acquiring = asyncio.Lock()
        self.blocked_by: AnySlots | None = None
        """The slots of which none became free before `open` ended."""

    def occupied_by(self, caller: Caller) -> Caller:
        """Return the caller for the call that has the slots."""
        return caller.occupying(self) if caller.depth and self._slots else caller

    async def open(self, deadline: float | None = None) -> None:
        """Acquire the slots, in their order.

        Raises:
            TimeoutError: A slot did not become free before the deadline.
        """
        try:
            await self._acquire(deadline, waits=True)
        except BaseException:
            self.blocked_by = self._slots[self._acquired]
            self.release()
            raise
        if self._pauses is not None:
            self._pauses.add(self)

    async def acquire(self, *, waits: bool) -> None:
        """Acquire the slots again after a pause, unless the call ends or pauses again meanwhile."""
        self._is_paused = False
        if not waits and self._acquiring.locked():
            return
        async with self._acquiring:
            await self._acquire(None, waits=waits)

    def release(self) -> None:
        """Release the slots during a pause."""
        self._is_paused = True
        while self._acquired:
            self._acquired -= 1
            self._slots[self._acquired].release()

    def close(self) -> None:
        """Release the slots for good. Call it once, after `open`."""
        self._is_closed = True
        if self._pauses is not None:
            self._pauses.remove(self)
        self.release()

    async def _acquire(self, deadline: float | None, *, waits: bool) -> None:
        while not (self._is_paused or self._is_closed) and self._acquired < len(self._slots):
            acquired = self._acquired
            slots = self._slots[acquired]
            if not slots.try_acquire():
                if not waits:
                    return
                await slots.wait(deadline)
            if self._is_paused or self._is_closed or self._acquired != acquired:
                slots.release()  # all slots were released while this one was waited for
            else:
                self._acquired += 1
