"""Sessions in memory."""

import time
from collections.abc import Callable, Sequence

import orjson

from onetool.domain.chat.transcript import Record, SessionSummary, check_session_name, replay, to_line
from onetool.domain.page import Page


class MemorySessions:
    """Stores records as JSON lines, so that they are read back as from a file."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._lines: dict[str, list[bytes]] = {}
        self._changed_at: dict[str, float] = {}

    async def append(self, session: str, records: Sequence[Record]) -> None:
        """Append records to a session."""
        self._lines.setdefault(check_session_name(session), []).extend(map(to_line, records))
        self._changed_at[session] = self._now()

    async def read(self, session: str) -> Sequence[Record]:
        """Return all records of a session."""
        return self._read(session)

    async def page(self, cursor: str | None, limit: int) -> Page[SessionSummary]:
        """Return sessions, most recently changed first."""
        names = sorted(self._changed_at, key=lambda name: self._changed_at[name], reverse=True)
        start = int(cursor or 0)
        summaries = [self._summary(name) for name in names[start : start + limit]]
        return Page(summaries, str(start + limit) if start + limit < len(names) else None)

    async def delete(self, session: str) -> bool:
        """Delete a session. Return False if there is none."""
        return self._delete(session)

    async def reap(self, before: float, keep: str | None = None) -> int:
        """Delete sessions last changed before `before`, except `keep`. Return how many were deleted."""
        old = [name for name, at in self._changed_at.items() if at < before and name != keep]
        return sum(self._delete(name) for name in old)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""

    def _read(self, session: str) -> Sequence[Record]:
        return [orjson.loads(line) for line in self._lines.get(check_session_name(session), ())]

    def _delete(self, session: str) -> bool:
        self._changed_at.pop(session, None)
        return self._lines.pop(session, None) is not None

    def _summary(self, name: str) -> SessionSummary:
        transcript = replay(self._read(name))
        return SessionSummary(name, transcript.title, self._changed_at[name], len(transcript.messages))
