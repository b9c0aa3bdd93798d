"""A counting semaphore whose fast path needs no coroutine."""

import asyncio
from collections import deque


class Slots:
    """A fixed number of slots, with a first-in-first-out queue of waiters.

    Unlike with `asyncio.Semaphore`, acquiring a free slot is a plain function call: it happens on every call.
    """

    __slots__ = ("__weakref__", "_free", "_waiters")

    def __init__(self, size: int) -> None:
        self._free = size
        self._waiters: deque[asyncio.Future[None]] = deque()

    def try_acquire(self) -> bool:
        """Acquire a slot if one is free. While tasks wait, none is: `release` gives slots to them first."""
        if self._free == 0:
            return False
        self._free -= 1
        return True

    async def wait(self, deadline: float) -> None:
        """Wait in the queue and acquire a slot.

        Raises:
            TimeoutError: No slot became free before the deadline.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout_at(deadline):
                await waiter
        except BaseException:
            if not waiter.cancelled():  # a slot was assigned at the same moment
                self.release()
            raise

    def release(self) -> None:
        """Release a slot: assign it to the first waiter, if there is one."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1
