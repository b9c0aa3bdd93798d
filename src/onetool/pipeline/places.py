"""A number of places; whoever finds none waits in line."""

import asyncio
from collections import deque


class Places:
    """Like a semaphore, but taking a free place is a plain function call: it happens on every call."""

    __slots__ = ("__weakref__", "_free", "_line")

    def __init__(self, size: int) -> None:
        self._free = size
        self._line: deque[asyncio.Future[None]] = deque()

    def take(self) -> bool:
        """Take a place if one is free and nobody waits for it."""
        if self._free == 0:
            return False
        self._free -= 1
        return True

    async def wait(self, deadline: float) -> None:
        """Wait in line for a place.

        Raises TimeoutError.
        """
        turn = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            async with asyncio.timeout_at(deadline):
                await turn
        except BaseException:
            if not turn.cancelled():  # the place came in the same moment
                self.give()
            raise

    def give(self) -> None:
        """Give a place back, to the first in line if there is one."""
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
