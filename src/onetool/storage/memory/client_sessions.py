"""Sessions of MCP clients in memory."""

import time
from collections.abc import Callable, Hashable, Mapping

from onetool.ports.client_sessions import check_entry


class MemoryClientSessions:
    """Sessions of the clients of this process, for its lifetime."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._entries: dict[str, dict[str, str]] = {}
        self._written_at: dict[str, float] = {}
        self._generations: dict[str, int] = {}

    def generation(self, session: str) -> Hashable:
        """Return the number of writes to a session."""
        return self._generations.get(session)

    async def read(self, session: str) -> Mapping[str, str]:
        """Return the entries of a session by name."""
        return dict(self._entries.get(session, {}))

    async def put(self, session: str, name: str, text: str) -> None:
        """Create or replace an entry."""
        check_entry(session, name)
        self._entries.setdefault(session, {})[name] = text
        self._note_write(session)

    async def remove(self, session: str, name: str) -> None:
        """Remove an entry."""
        check_entry(session, name)
        if self._entries.get(session, {}).pop(name, None) is not None:
            self._note_write(session)

    async def reap(self, before: float) -> None:
        """Delete old sessions."""
        for session in [session for session, time_ in self._written_at.items() if time_ < before]:
            for entries in (self._entries, self._written_at, self._generations):
                entries.pop(session)

    async def aclose(self) -> None:
        """Do nothing."""

    def _note_write(self, session: str) -> None:
        self._written_at[session] = self._now()
        self._generations[session] = self._generations.get(session, 0) + 1
