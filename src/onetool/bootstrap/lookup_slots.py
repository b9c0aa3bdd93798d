"""Limits on looking up secrets: anyone can send wrong ones, and others must find connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from onetool.domain.errors import StoreUnavailable

MAX_LOOKUPS = 2
"""Keys, sessions and members of one workspace that are looked up at a time."""
MAX_ALL_LOOKUPS = 5
"""Those of all workspaces. The rest of the connections is for requests whose key is known."""
LOOKUP_WAIT_S = 10.0


class LookupSlots:
    """Lets few lookups of each workspace run at a time, so that one cannot keep those of others waiting."""

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(MAX_ALL_LOOKUPS)
        self._of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """By workspace, as long as one is looked up or waits."""

    @asynccontextmanager
    async def slot(self, slug: str) -> AsyncIterator[None]:
        """Wait until something of a workspace may be looked up. An empty slug stands for all people.

        Raises:
            StoreUnavailable: Too much is being looked up.
        """
        own = self._of.setdefault(slug, asyncio.Semaphore(MAX_LOOKUPS))
        try:
            async with asyncio.timeout(LOOKUP_WAIT_S):
                await own.acquire()
                try:
                    await self._all.acquire()
                except BaseException:
                    own.release()
                    raise
        except TimeoutError:
            raise StoreUnavailable("Too many keys or sessions are being looked up.") from None
        try:
            yield
        finally:
            self._all.release()
            own.release()
