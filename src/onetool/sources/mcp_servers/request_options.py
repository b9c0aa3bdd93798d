"""How a request is sent to a server."""

from typing import NamedTuple, Protocol

from onetool.domain.calls.caller import LogHandler


class OnProgress(Protocol):
    """Receives the progress of a request."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress."""
        ...


class RequestOptions(NamedTuple):
    """Limits and callbacks of one request."""

    deadline: float | None
    """Seconds on the monotonic clock; None if the caller ends the request itself."""
    on_progress: OnProgress | None = None
    on_log: LogHandler | None = None
    """Receives what the server logs, as long as no other such request is in progress: nothing in the
    protocol says to which request a message belongs."""
