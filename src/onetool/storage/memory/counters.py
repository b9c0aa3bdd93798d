"""Call counters in memory."""

from collections.abc import Collection, Mapping, Sequence

from onetool.domain.usage.events import CallCounter, CallEvent, count_calls


class MemoryCounters:
    """Counts the calls of each tool, for the lifetime of the process."""

    def __init__(self) -> None:
        self._counters: dict[str, CallCounter] = {}

    async def add(self, events: Sequence[CallEvent]) -> None:
        """Add calls to the counters of their tools."""
        for tool_id, added in count_calls(events).items():
            before = self._counters.get(tool_id, CallCounter(0, 0.0))
            last = max(before.last_called_at, added.last_called_at)
            self._counters[tool_id] = CallCounter(before.calls + added.calls, last)

    async def find(self, tool_ids: Collection[str]) -> Mapping[str, CallCounter]:
        """Return the counters of the tools that were called at least once."""
        return {tool_id: self._counters[tool_id] for tool_id in tool_ids if tool_id in self._counters}

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""
