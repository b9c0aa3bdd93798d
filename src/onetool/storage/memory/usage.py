"""Usage events in memory."""

from collections import deque
from collections.abc import Sequence

from onetool.domain.usage.events import Event, UsageSummary

MAX_EVENTS = 100_000


class MemoryUsage:
    """The most recent events, for the lifetime of the process."""

    def __init__(self) -> None:
        self.events: deque[Event] = deque(maxlen=MAX_EVENTS)

    async def add(self, events: Sequence[Event]) -> None:
        """Store events."""
        self.events.extend(events)

    async def summarize(self, since: float | None) -> UsageSummary:
        """Summarize the stored events since `since`, or all of them."""
        return UsageSummary().add(tuple(self.events), since)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""
