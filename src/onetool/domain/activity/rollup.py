"""What statistics and counters are derived from: the calls of each tool by the hour."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from onetool.domain.errors import Reason
from onetool.domain.usage.summary import HOUR, UNKNOWN_TOOL, CallCounter, TokenSaving, ToolUsage, UsageSummary

from .record import RUN, CallRecord


class SessionSaving(NamedTuple):
    """Tokens of the definitions that were not sent to a session, and when that was counted last."""

    tokens: int
    at: float


@dataclass(slots=True)
class RollUp:
    """Figures that can be added to those of other calls, in any order."""

    hours: dict[tuple[int, str], ToolUsage] = field(default_factory=dict)
    """Usage by the hour since the epoch, and by tool."""
    sessions: dict[str, SessionSaving] = field(default_factory=dict)
    counters: dict[str, CallCounter] = field(default_factory=dict)
    """By the id of the tool."""

    def add_usage(self, records: Iterable[CallRecord]) -> "RollUp":
        """Add calls to the usage of their tools. Runs of code are not calls."""
        for record in records:
            if record.kind == "call":
                name = UNKNOWN_TOOL if record.reason is Reason.UNKNOWN else record.tool
                hour = int(record.ended // HOUR)
                usage = self._hour(hour, name)  # updated in place, because every call takes this time
                usage.calls += 1
                usage.failed += record.reason is not None
                usage.total_ms += record.duration_ms
                usage.max_ms = max(usage.max_ms, record.duration_ms)
                usage.last_at = max(usage.last_at, record.ended)
                usage.hours[hour] = usage.calls, usage.failed
        return self

    def add_savings(self, savings: Iterable[TokenSaving]) -> "RollUp":
        """Add savings of runs and of sessions."""
        for saving in savings:
            if saving.session:
                self.add_session(saving.session, SessionSaving(saving.tokens, saving.at))
            else:
                usage = ToolUsage(saved_tokens=saving.tokens, round_trips=saving.round_trips)
                self._hour(int(saving.at // HOUR), RUN).add(usage)
        return self

    def add_counts(self, records: Iterable[CallRecord]) -> "RollUp":
        """Count calls by the id of their tool, without calls of unknown tools."""
        for record in records:
            if record.tool_id:
                self.add_counter(record.tool_id, CallCounter(1, record.ended))
        return self

    def merge(self, other: "RollUp") -> None:
        """Add other figures to these."""
        for (hour, tool), usage in other.hours.items():
            self._hour(hour, tool).add(usage)
        for session, saving in other.sessions.items():
            self.add_session(session, saving)
        for tool_id, counter in other.counters.items():
            self.add_counter(tool_id, counter)

    def add_session(self, session: str, saving: SessionSaving) -> None:
        """Note what a session saved; the most, if it is counted more than once."""
        old = self.sessions.get(session, saving)
        self.sessions[session] = SessionSaving(max(old.tokens, saving.tokens), max(old.at, saving.at))

    def add_counter(self, tool_id: str, counter: CallCounter) -> None:
        """Add calls to the counter of a tool."""
        old = self.counters.get(tool_id, CallCounter(0, 0.0))
        last = max(old.last_called_at, counter.last_called_at)
        self.counters[tool_id] = CallCounter(old.calls + counter.calls, last)

    def summarize(self, since: float | None, first_hour: "RollUp") -> UsageSummary:
        """Return the usage since a time, or of all time.

        first_hour: the calls after `since` in the hour in which it is, of which this object has all.
        """
        summary, start = UsageSummary(), -1 if since is None else int(since // HOUR)
        for (hour, tool), usage in self.hours.items():
            if hour == start:
                summary.add(tool, ToolUsage(saved_tokens=usage.saved_tokens, round_trips=usage.round_trips))
            elif hour > start:
                summary.add(tool, usage)
        for (_, tool), usage in first_hour.hours.items():
            summary.add(tool, usage)
        sessions = self.sessions.items()
        summary.sessions = {name: item.tokens for name, item in sessions if item.at >= (since or 0.0)}
        return summary

    def _hour(self, hour: int, tool: str) -> ToolUsage:
        usage = self.hours.get((hour, tool))
        if usage is None:
            usage = self.hours[hour, tool] = ToolUsage()
        return usage
