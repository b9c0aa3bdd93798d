"""Stores for tests and throw-away runs."""

import time
from collections import deque
from collections.abc import Callable, Sequence

from onetool.domain.stored import Stored, describe
from onetool.domain.usage import CallEvent

KEPT = 1_000


class MemoryUsage:
    """Remembers the last events as long as the process lives."""

    def __init__(self) -> None:
        self.events: deque[CallEvent] = deque(maxlen=KEPT)

    def add(self, events: Sequence[CallEvent]) -> None:
        """Keep these events."""
        self.events.extend(events)


class MemoryResults:
    """Keeps texts as long as the process lives, each for its time."""

    def __init__(self, ttl_s: float, now: Callable[[], float] = time.time) -> None:
        self._ttl_s, self._now = ttl_s, now
        self._stored: dict[str, Stored] = {}
        self._texts: dict[str, str] = {}

    def put(self, text: str, tool: str) -> Stored:
        """Keep a text."""
        stored = describe(text, tool, self._now(), self._ttl_s)
        self._stored[stored.handle], self._texts[stored.handle] = stored, text
        return stored

    def find(self, handle: str) -> Stored | None:
        """Return what is known of a handle."""
        return self._stored.get(handle)

    def text(self, handle: str) -> str | None:
        """Return the text while it lasts."""
        stored = self._stored.get(handle)
        if stored is None or stored.expires_at <= self._now():
            self._texts.pop(handle, None)
        return self._texts.get(handle)
