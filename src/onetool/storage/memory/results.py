"""Stored results in memory."""

import time
from collections.abc import Callable

from onetool.domain.results.stored_result import DEFAULT_TTL_S, StoredResult, create_stored_result


class MemoryResults:
    """Texts that expire, for the lifetime of the process."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._stored: dict[str, StoredResult] = {}
        self._texts: dict[str, str] = {}

    async def put(self, text: str, tool: str, ttl_s: float = DEFAULT_TTL_S) -> StoredResult:
        """Store a text."""
        stored = create_stored_result(text, tool, self._now(), ttl_s)
        self._stored[stored.handle], self._texts[stored.handle] = stored, text
        return stored

    async def find(self, handle: str) -> StoredResult | None:
        """Return the metadata of a handle."""
        return self._stored.get(handle)

    async def text(self, handle: str) -> str | None:
        """Return the text, or None if it has expired."""
        stored = self._stored.get(handle)
        if stored is None or stored.expires_at <= self._now():
            self._texts.pop(handle, None)
        return self._texts.get(handle)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""
