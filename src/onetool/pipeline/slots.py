"""A counting semaphore whose fast path needs no coroutine."""

import asyncio
from collections import deque


class Slots:
    """A number of slots, with a first-in-first-out queue of waiters.

    Unlike with `asyncio.Semaphore`, acquiring a free slot is a plain function call: it happens on every call.
    """

    __slots__ = ("__weakref__", "_free", "_size", "_waiters")

    def __init__(self, size: int) -> None:
        self._size = self._free = size
        self._waiters: deque[asyncio.Future[None]] = deque()

    def resize(self, size: int) -> None:
        """Change the number of slots. If more are in use, none is free until enough of them are released."""
        self._free += size - self._size
        self._size = size
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
        try:
            async with asyncio.timeout_at(deadline):
                await waiter
        except BaseException:
            if not waiter.cancelled():  # a slot was assigned at the same moment
                self.release()
            raise

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
