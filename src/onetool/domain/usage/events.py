"""Usage events of finished calls and their aggregation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from onetool.domain.errors import ErrorCode, Reason

HOUR = 3_600
HOURS_PER_DAY = 24
DAY = HOURS_PER_DAY * HOUR
PERIODS: Mapping[str, float | None] = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY, "all": None}
"""Length of each period in seconds. None: all time."""
UNKNOWN_TOOL = "(unknown)"
"""Name under which calls to unknown tools are counted, because models can invent any number of names."""
BYTES_PER_TOKEN = 4


class CallEvent(NamedTuple):
    """One finished call, from any interface."""

    tool: str
    at: float
    """End of the call, in seconds since the epoch."""
    ok: bool
    tool_id: str = ""
    """Key of the tool's counter. Empty: no tool was found."""
    version: str = ""
    code: ErrorCode | None = None
    reason: Reason | None = None
    duration_ms: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    source: str = ""
    session: str = ""
    call_id: str = ""


class TokenSaving(NamedTuple):
    """Tokens or round trips saved: definitions not sent, results stored, calls made in one run."""

    what: Literal["definitions", "result", "calls"]
    at: float
    session: str = ""
    tool: str = ""
    tokens: int = 0
    round_trips: int = 0


Event = CallEvent | TokenSaving


class CallCounter(NamedTuple):
    """Number of calls of a tool, and the time of the last one in seconds since the epoch."""

    calls: int
    last_called_at: float


def count_calls(events: Sequence[CallEvent]) -> dict[str, CallCounter]:
    """Count calls by tool id, without calls to unknown tools."""
    counters: dict[str, CallCounter] = {}
    for event in events:
        if event.tool_id:
            counter = counters.get(event.tool_id, CallCounter(0, 0.0))
            counters[event.tool_id] = CallCounter(counter.calls + 1, max(counter.last_called_at, event.at))
    return counters


def estimate_tokens(size_bytes: int) -> int:
    """Estimate the number of tokens of a text from its size in bytes."""
    return size_bytes // BYTES_PER_TOKEN


@dataclass(slots=True)
class ToolUsage:
    """Aggregated calls of one tool."""

    calls: int = 0
    failed: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0
    last_at: float = 0.0
    saved_tokens: int = 0
    round_trips: int = 0
    hours: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Calls and failures by the hour since the epoch in which they ended; those of past months by the first
    hour of the day."""

    def add(self, other: "ToolUsage") -> None:
        """Add the usage of another period or process to this one."""
        self.calls += other.calls
        self.failed += other.failed
        self.total_ms += other.total_ms
        self.max_ms = max(self.max_ms, other.max_ms)
        self.last_at = max(self.last_at, other.last_at)
        self.saved_tokens += other.saved_tokens
        self.round_trips += other.round_trips
        for hour, (calls, failed) in other.hours.items():
            old_calls, old_failed = self.hours.get(hour, (0, 0))
            self.hours[hour] = old_calls + calls, old_failed + failed

    @property
    def success_rate(self) -> float:
        """Percentage of successful calls; 0 if there were no calls."""
        return round(100 * (self.calls - self.failed) / self.calls, 1) if self.calls else 0.0

    @property
    def mean_ms(self) -> float:
        """Mean duration of a call in milliseconds."""
        return round(self.total_ms / self.calls, 1) if self.calls else 0.0


@dataclass(slots=True)
class UsageSummary:
    """Events aggregated by tool.

    Summaries can be merged, so that past days are stored as a summary instead of as events.
    """

    tools: dict[str, ToolUsage] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    """Tokens of definitions that each session saved, counted once even if several processes report them."""

    def add(self, events: Iterable[Event], since: float | None = None) -> "UsageSummary":
        """Add events that ended at `since` or later."""
        for event in events:
            if since is None or event.at >= since:
                self._add_call(event) if isinstance(event, CallEvent) else self._add_saving(event)
        return self

    def merge(self, other: "UsageSummary") -> "UsageSummary":
        """Add another summary to this one."""
        for name, usage in other.tools.items():
            self._tool(name).add(usage)
        for session, saved in other.sessions.items():
            self._add_session(session, saved)
        return self

    def by_day(self) -> "UsageSummary":
        """Return a copy with calls and failures by day instead of by hour."""
        daily = UsageSummary().merge(self)
        for usage in daily.tools.values():
            hours, usage.hours = usage.hours, {}
            for hour, (calls, failed) in hours.items():
                day = hour - hour % HOURS_PER_DAY
                old_calls, old_failed = usage.hours.get(day, (0, 0))
                usage.hours[day] = old_calls + calls, old_failed + failed
        return daily

    def for_tool(self, tool: str) -> "UsageSummary":
        """Return the usage of one tool, without savings of sessions."""
        return UsageSummary({tool: self.tools[tool]} if tool in self.tools else {})

    def total(self) -> ToolUsage:
        """Return the usage of all tools together."""
        total = ToolUsage()
        for usage in self.tools.values():
            total.add(usage)
        total.saved_tokens += sum(self.sessions.values())
        return total

    def to_json(self) -> dict[str, Any]:
        """Return the form that is stored in files."""
        tools = {
            name: {key: getattr(usage, key) for key in ToolUsage.__slots__ if key != "hours"}
            | {"hours": {str(hour): list(counts) for hour, counts in usage.hours.items()}}
            for name, usage in self.tools.items()
        }
        return {"tools": tools, "sessions": self.sessions}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "UsageSummary":
        """Read the output of `to_json`.

        Data in another form raises KeyError, TypeError, ValueError or AttributeError.
        """
        tools = {
            name: ToolUsage(
                **{**usage, "hours": {int(hour): tuple(counts) for hour, counts in usage["hours"].items()}}
            )
            for name, usage in data["tools"].items()
        }
        return cls(tools, dict(data["sessions"]))

    def _add_call(self, event: CallEvent) -> None:
        usage = self._tool(UNKNOWN_TOOL if event.reason == Reason.UNKNOWN else event.tool)
        failed, hour = int(not event.ok), int(event.at // HOUR)
        usage.calls += 1
        usage.failed += failed
        usage.total_ms += event.duration_ms
        usage.max_ms = max(usage.max_ms, event.duration_ms)
        usage.last_at = max(usage.last_at, event.at)
        old_calls, old_failed = usage.hours.get(hour, (0, 0))
        usage.hours[hour] = old_calls + 1, old_failed + failed

    def _add_saving(self, saving: TokenSaving) -> None:
        if saving.what == "definitions":
            self._add_session(saving.session, saving.tokens)
        else:
            usage = self._tool(saving.tool)
            usage.saved_tokens += saving.tokens
            usage.round_trips += saving.round_trips

    def _add_session(self, session: str, saved: int) -> None:
        self.sessions[session] = max(self.sessions.get(session, 0), saved)

    def _tool(self, name: str) -> ToolUsage:
        return self.tools.setdefault(name, ToolUsage())


def summarize(summary: UsageSummary, round_trip_ms: float) -> dict[str, Any]:
    """Return the main figures in total and by tool, most called first."""
    total = summary.total()
    most_called = sorted(summary.tools.items(), key=lambda entry: -entry[1].calls)
    return {
        "total_calls": total.calls,
        "success_rate": total.success_rate,
        "context_saved": total.saved_tokens,
        "time_saved_ms": round(total.round_trips * round_trip_ms),
        "tools": {
            name: {
                "calls": usage.calls,
                "success_rate": usage.success_rate,
                "mean_ms": usage.mean_ms,
                "max_ms": round(usage.max_ms, 1),
            }
            for name, usage in most_called
            if usage.calls
        },
    }
