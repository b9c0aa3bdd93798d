"""OAuth tokens of servers in memory."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class MemoryTokens:
    """Tokens as JSON text by server name, for the lifetime of the process."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def read(self, server: str) -> str | None:
        """Return the stored tokens of a server."""
        return self._texts.get(server)

    @asynccontextmanager
    async def exclusive(self, server: str) -> AsyncIterator["LockedTokenText"]:
        """Lock the tokens of a server for the block."""
        async with self._locks[server]:
            yield LockedTokenText(self._texts, server)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


class LockedTokenText:
    """The stored tokens of one server while they are locked."""

    def __init__(self, texts: dict[str, str], server: str) -> None:
        self._texts, self._server = texts, server

    @property
    def text(self) -> str | None:
        """The stored text, or None."""
        return self._texts.get(self._server)

    async def replace(self, text: str | None, *, is_refresh: bool = False) -> None:
        """Replace the stored text; None deletes it."""
        if text is None:
            self._texts.pop(self._server, None)
        else:
            self._texts[self._server] = text
