"""Stores for tests and throw-away runs."""

from collections import deque
from collections.abc import Sequence

from onetool.domain.usage import CallEvent

KEPT = 1_000


class MemoryUsage:
    """Remembers the last events as long as the process lives."""

    def __init__(self) -> None:
        self.events: deque[CallEvent] = deque(maxlen=KEPT)

    def add(self, events: Sequence[CallEvent]) -> None:
        """Keep these events."""
        self.events.extend(events)
