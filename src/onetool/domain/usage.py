"""What is remembered of calls once they are over, and what it adds up to."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from .errors import ErrorCode, Reason

HOUR = 3_600
DAY = 24 * HOUR
PERIODS: Mapping[str, float | None] = {"day": DAY, "week": 7 * DAY, "month": 30 * DAY, "all": None}
"""Seconds back from now; None for all time."""
UNKNOWN = "(unknown)"
"""Under which calls are counted that no tool answered to: their names are whatever a model came up with."""
BYTES_PER_TOKEN = 4


class CallEvent(NamedTuple):
    """One finished call, whichever door it came through."""

    tool: str
    at: float
    """Seconds since the epoch, when the call ended."""
    ok: bool
    tool_id: str = ""
    """By which its counters are kept; empty where no tool was found."""
    version: str = ""
    code: ErrorCode | None = None
    reason: Reason | None = None
    duration_ms: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    source: str = ""
    session: str = ""
    call_id: str = ""


class Saving(NamedTuple):
    """What a model was spared: definitions that it need not read, results kept aside, round trips."""

    what: Literal["definitions", "result", "calls"]
    at: float
    session: str = ""
    tool: str = ""
    tokens: int = 0
    round_trips: int = 0


Event = CallEvent | Saving


class Counter(NamedTuple):
    """How often a tool was called, and when last: seconds since the epoch."""

    calls: int
    last_called_at: float


def count_calls(events: Sequence[CallEvent]) -> dict[str, Counter]:
    """Calls and the last moment for each tool; calls that no tool answered to are left out."""
    counted: dict[str, Counter] = {}
    for event in events:
        if event.tool_id:
            before = counted.get(event.tool_id, Counter(0, 0.0))
            counted[event.tool_id] = Counter(before.calls + 1, max(before.last_called_at, event.at))
    return counted


def tokens(size: int) -> int:
    """About how many tokens a text of this many bytes has."""
    return size // BYTES_PER_TOKEN


@dataclass(slots=True)
class ToolTally:
    """The calls of one tool, added up."""

    calls: int = 0
    failed: int = 0
    total_ms: float = 0.0
    max_ms: float = 0.0
    last_at: float = 0.0
    saved_tokens: int = 0
    round_trips: int = 0
    hours: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Calls and failures by the hour in which they ended, counted from the epoch."""

    def add(self, other: "ToolTally") -> None:
        """Add another tally to this one."""
        self.calls += other.calls
        self.failed += other.failed
        self.total_ms += other.total_ms
        self.max_ms = max(self.max_ms, other.max_ms)
        self.last_at = max(self.last_at, other.last_at)
        self.saved_tokens += other.saved_tokens
        self.round_trips += other.round_trips
        for hour, (calls, failed) in other.hours.items():
            before = self.hours.get(hour, (0, 0))
            self.hours[hour] = before[0] + calls, before[1] + failed

    @property
    def success_rate(self) -> float:
        """Per cent of the calls that did not fail; 0 where there were none."""
        return round(100 * (self.calls - self.failed) / self.calls, 1) if self.calls else 0.0

    @property
    def mean_ms(self) -> float:
        """How long a call took on average."""
        return round(self.total_ms / self.calls, 1) if self.calls else 0.0


@dataclass(slots=True)
class Tally:
    """Events added up by tool. Tallies add up too: those of whole days are kept instead of their events."""

    tools: dict[str, ToolTally] = field(default_factory=dict)
    sessions: dict[str, int] = field(default_factory=dict)
    """Tokens of definitions that each session was spared: once, however many processes noted it."""

    def add(self, events: Iterable[Event], since: float | None = None) -> "Tally":
        """Count events, those that ended before `since` excepted."""
        for event in events:
            if since is None or event.at >= since:
                self._count(event) if isinstance(event, CallEvent) else self._save(event)
        return self

    def merge(self, other: "Tally") -> "Tally":
        """Add another tally to this one."""
        for name, tally in other.tools.items():
            self._tool(name).add(tally)
        for session, spared in other.sessions.items():
            self._spare(session, spared)
        return self

    def only(self, tool: str) -> "Tally":
        """What belongs to one tool; what a session was spared belongs to none."""
        return Tally({tool: self.tools[tool]} if tool in self.tools else {})

    def total(self) -> ToolTally:
        """All tools as one."""
        total = ToolTally()
        for tally in self.tools.values():
            total.add(tally)
        total.saved_tokens += sum(self.sessions.values())
        return total

    def to_json(self) -> dict[str, Any]:
        """As kept in a file."""
        tools = {
            name: {key: getattr(tally, key) for key in ToolTally.__slots__ if key != "hours"}
            | {"hours": {str(hour): list(counts) for hour, counts in tally.hours.items()}}
            for name, tally in self.tools.items()
        }
        return {"tools": tools, "sessions": self.sessions}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Tally":
        """Read what `to_json` wrote.

        Raises KeyError, TypeError, ValueError or AttributeError for anything else.
        """
        tools = {
            name: ToolTally(
                **{**tally, "hours": {int(hour): tuple(counts) for hour, counts in tally["hours"].items()}}
            )
            for name, tally in kept["tools"].items()
        }
        return cls(tools, dict(kept["sessions"]))

    def _count(self, event: CallEvent) -> None:
        tally = self._tool(UNKNOWN if event.reason == Reason.UNKNOWN else event.tool)
        failed, hour = int(not event.ok), int(event.at // HOUR)
        tally.calls += 1
        tally.failed += failed
        tally.total_ms += event.duration_ms
        tally.max_ms = max(tally.max_ms, event.duration_ms)
        tally.last_at = max(tally.last_at, event.at)
        before = tally.hours.get(hour, (0, 0))
        tally.hours[hour] = before[0] + 1, before[1] + failed

    def _save(self, saving: Saving) -> None:
        if saving.what == "definitions":
            self._spare(saving.session, saving.tokens)
        else:
            tally = self._tool(saving.tool)
            tally.saved_tokens += saving.tokens
            tally.round_trips += saving.round_trips

    def _spare(self, session: str, spared: int) -> None:
        self.sessions[session] = max(self.sessions.get(session, 0), spared)

    def _tool(self, name: str) -> ToolTally:
        return self.tools.setdefault(name, ToolTally())


def sum_up(tally: Tally, round_trip_ms: float) -> dict[str, Any]:
    """Return the figures that people ask for; tools that were called most come first."""
    total = tally.total()
    called = sorted(tally.tools.items(), key=lambda entry: -entry[1].calls)
    return {
        "total_calls": total.calls,
        "success_rate": total.success_rate,
        "context_saved": total.saved_tokens,
        "time_saved_ms": round(total.round_trips * round_trip_ms),
        "tools": {
            name: {
                "calls": one.calls,
                "success_rate": one.success_rate,
                "mean_ms": one.mean_ms,
                "max_ms": round(one.max_ms, 1),
            }
            for name, one in called
            if one.calls
        },
    }
