"""What is remembered of a call once it is over."""

from typing import NamedTuple

from .errors import ErrorCode, Reason


class CallEvent(NamedTuple):
    """One finished call, whichever door it came through."""

    tool: str
    version: str
    at: float
    """Seconds since the epoch, when the call ended."""
    ok: bool
    code: ErrorCode | None
    reason: Reason | None
    duration_ms: float
    bytes_in: int
    bytes_out: int
    source: str
    session: str
    call_id: str
