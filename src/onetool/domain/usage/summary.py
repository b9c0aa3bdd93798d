"""Usage of tools: how often they were called, how long that took, and what it saved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

HOUR = 3_600
HOURS_PER_DAY = 24
DAY = HOURS_PER_DAY * HOUR
PERIODS: Mapping[str, float | None] = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY, "all": None}
"""Length of each period in seconds. None: all time."""
UNKNOWN_TOOL = "(unknown)"
"""Name under which calls to unknown tools are counted, because models can invent any number of names."""
BYTES_PER_TOKEN = 4


class TokenSaving(NamedTuple):
    """Tokens or round trips that a run saved: results stored, calls made in one run, definitions not sent."""

    at: float
    tokens: int = 0
    round_trips: int = 0
    session: str = ""
    """The session to which definitions were not sent. Empty: the tokens are those of a stored result."""


class CallCounter(NamedTuple):
    """Number of calls of a tool, and the time of the last one in seconds since the epoch."""

    calls: int
    last_called_at: float


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
    """The usage of each tool in a period, and the savings of sessions."""

    tools: dict[str, ToolUsage] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    """Tokens of definitions that each session saved, counted once even if several processes report them."""

    def add(self, tool: str, usage: ToolUsage) -> None:
        """Add the usage of a tool in some hours to this one."""
        self.tools.setdefault(tool, ToolUsage()).add(usage)

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
