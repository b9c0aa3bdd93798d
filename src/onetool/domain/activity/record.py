"""The record of a finished call, from any interface, and the filter of a listing of records."""

import re
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from onetool.domain.errors import CODE_BY_REASON, ErrorCode, Reason

RUN = "run"
"""Name under which code that a model wrote is recorded."""
MAX_WILDCARDS = 4
"""More in a pattern could take too long to match."""
MAX_CURSOR_DIGITS = 18


class CallRecord(NamedTuple):
    """One finished call of a tool, or one run of code. Times are in seconds since the epoch."""

    id: str
    tool: str
    started: float
    ended: float
    kind: Literal["call", "run"] = "call"
    parent: str = ""
    """Id of the call or run that made this one; empty for an outermost one."""
    principal: str = ""
    interface: str = ""
    client: str = ""
    profile: str = ""
    session: str = ""
    source: str = ""
    tool_id: str = ""
    """Key of the tool's counter. Empty: no tool was found, or code ran."""
    version: str = ""
    reason: Reason | None = None
    """Why it failed; None if it succeeded."""
    decision: str = ""
    """Why it was allowed or denied, and whether a person approved it."""
    duration_ms: float = 0.0
    bytes_in: int = 0
    bytes_out: int = 0
    arguments: str = ""
    """As JSON, without secrets and base64, shortened. Empty if bodies are not recorded. Code as it is."""
    result: str = ""
    """The value in the same form, or the message of the error."""

    @property
    def ok(self) -> bool:
        """Whether the call succeeded."""
        return self.reason is None

    @property
    def code(self) -> ErrorCode | None:
        """The error code of a failed call."""
        return CODE_BY_REASON[self.reason] if self.reason else None


class ActivityFilter(NamedTuple):
    """Which records a listing contains. None: any."""

    principal: str | None = None
    tool: str | None = None
    """A name, a pack, or a pattern with `*` and `?`."""
    interface: str | None = None
    client: str | None = None
    profile: str | None = None
    session: str | None = None
    ok: bool | None = None
    reason: Reason | None = None
    since: float | None = None
    until: float | None = None
    """Calls that ended before this time."""
    parent: str | None = None
    """Calls that this one made; empty: only outermost calls."""
    text: str | None = None
    """A part of the name, the arguments or the result, in any case."""

    def check(self) -> None:
        """Check the pattern.

        Raises:
            ValueError: It has too many wildcards.
        """
        if self.tool is not None and sum(map(self.patterns[0].count, "*?")) > MAX_WILDCARDS:
            raise ValueError(f"A pattern can have up to {MAX_WILDCARDS} wildcards.")

    @property
    def patterns(self) -> tuple[str, str]:
        """Two patterns, of which the name must match one: the tool itself, or all of a pack."""
        pattern = re.sub(r"\*+", "*", self.tool or "*").replace("[", "?")
        return pattern, f"{pattern}.*"

    def matches(self, record: CallRecord) -> bool:
        """Return whether a listing with this filter contains a record."""
        fields = ("principal", "interface", "client", "profile", "session", "ok", "reason", "parent")
        wanted = ((getattr(self, name), getattr(record, name)) for name in fields)
        return (
            all(value is None or value == actual for value, actual in wanted)
            and (self.tool is None or any(fnmatchcase(record.tool, item) for item in self.patterns))
            and (self.since is None or record.ended >= self.since)
            and (self.until is None or record.ended < self.until)
            and (self.text is None or self.text.lower() in _searched(record))
        )


def _searched(record: CallRecord) -> str:
    return "\n".join([record.tool, record.arguments, record.result]).lower()


def parse_cursor(cursor: str | None) -> int | None:
    """Return the number of the last record of a page, after which the next one begins.

    Raises:
        ValueError: The cursor is not one of a listing.
    """
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= MAX_CURSOR_DIGITS):
        raise ValueError("The cursor is invalid. Omit it to start at the newest call.")
    return int(cursor)
