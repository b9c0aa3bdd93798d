"""Conversations that end with the process."""

import time
from collections.abc import Callable, Sequence

import orjson

from onetool.domain.paging import Page
from onetool.domain.transcript import Head, Record, add_up, check_name, to_line


class MemorySessions:
    """Keeps what a file would hold: JSON, not the objects that it was made of."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._lines: dict[str, list[bytes]] = {}
        self._at: dict[str, float] = {}

    def append(self, session: str, records: Sequence[Record]) -> None:
        """Add records."""
        self._lines.setdefault(check_name(session), []).extend(map(to_line, records))
        self._at[session] = self._now()

    def read(self, session: str) -> Sequence[Record]:
        """Return all records of a session."""
        return [orjson.loads(line) for line in self._lines.get(check_name(session), ())]

    def page(self, cursor: str | None, limit: int) -> Page[Head]:
        """Return sessions, the one that was last added to first."""
        names = sorted(self._at, key=lambda name: self._at[name], reverse=True)
        start = int(cursor or 0)
        heads = [self._head(name) for name in names[start : start + limit]]
        return Page(heads, str(start + limit) if start + limit < len(names) else None)

    def delete(self, session: str) -> bool:
        """Remove a session."""
        self._at.pop(session, None)
        return self._lines.pop(session, None) is not None

    def reap(self, before: float, but: str | None = None) -> int:
        """Remove sessions that nothing was added to since this moment, but one."""
        old = [name for name, at in self._at.items() if at < before and name != but]
        return sum(map(self.delete, old))

    def _head(self, name: str) -> Head:
        found = add_up(self.read(name))
        return Head(name, found.title, self._at[name], len(found.messages))
