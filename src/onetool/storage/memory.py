"""Stores for tests and throw-away runs."""

import time
from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from onetool.domain.stored import Stored, describe
from onetool.domain.usage import CallEvent, Counter, Event, Tally, count_calls

KEPT = 100_000


class MemoryUsage:
    """Remembers the last events as long as the process lives."""

    def __init__(self) -> None:
        self.events: deque[Event] = deque(maxlen=KEPT)

    def add(self, events: Sequence[Event]) -> None:
        """Keep these events."""
        self.events.extend(events)

    def tally(self, since: float | None) -> Tally:
        """Add up the events that are remembered."""
        return Tally().add(tuple(self.events), since)


class MemoryCounters:
    """Counts the calls of each tool as long as the process lives."""

    def __init__(self) -> None:
        self._counters: dict[str, Counter] = {}

    def add(self, events: Sequence[CallEvent]) -> None:
        """Count these calls."""
        for tool_id, more in count_calls(events).items():
            before = self._counters.get(tool_id, Counter(0, 0.0))
            last = max(before.last_called_at, more.last_called_at)
            self._counters[tool_id] = Counter(before.calls + more.calls, last)

    def find(self, tool_ids: Collection[str]) -> Mapping[str, Counter]:
        """Return the counters of those tools that were ever called."""
        return {tool_id: self._counters[tool_id] for tool_id in tool_ids if tool_id in self._counters}


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


class MemorySwitches:
    """Switches as long as the process lives."""

    def __init__(self) -> None:
        self._switches: dict[str, bool] = {}
        self._moves = 0

    def generation(self) -> Hashable:
        """Moves with every change."""
        return self._moves

    def read(self) -> Mapping[str, bool]:
        """Return every switch that was ever touched."""
        return dict(self._switches)

    def set(self, id: str, is_enabled: bool) -> None:
        """Set a switch."""
        self._switches[id] = is_enabled
        self._moves += 1
