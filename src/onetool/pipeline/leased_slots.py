"""Slots that all replicas share."""

import asyncio

from onetool.ports import CallLeases

RETRY_S = 0.1
"""Seconds after which a lease is tried again. That another replica has given one back is not announced."""


class LeasedSlots:
    """The slots of one tool. Calls of this process get them in the order in which they asked."""

    __slots__ = ("__weakref__", "_key", "_leases", "_turn", "size")

    def __init__(self, leases: CallLeases, key: str, size: int) -> None:
        self._leases, self._key, self.size = leases, key, size
        self._turn = asyncio.Lock()

    def try_acquire(self) -> bool:
        """Return False: a lease needs a request."""
        return False

    async def wait(self, deadline: float | None) -> None:
        """Wait for a lease.

        Raises:
            TimeoutError: There was none before the deadline.
        """
        async with asyncio.timeout_at(deadline), self._turn:
            while not await self._leases.take(self._key, self.size):  # noqa: ASYNC110 - no event in another process
                await asyncio.sleep(RETRY_S)

    def release(self) -> None:
        """Give a lease back."""
        self._leases.give_back(self._key)
