"""What a server logs, given to the call that it belongs to."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp_types import LoggingMessageNotification

from onetool.domain.calls.caller import LogEntry, LogHandler


class CallLogs:
    """Gives log messages to the call in progress. With several, nothing says to which one they belong."""

    def __init__(self) -> None:
        self._handlers: list[LogHandler] = []

    @contextmanager
    def collect(self, on_log: LogHandler | None) -> Iterator[None]:
        """Give messages to a handler while the block runs."""
        if on_log is None:
            yield
            return
        self._handlers.append(on_log)
        try:
            yield
        finally:
            self._handlers.remove(on_log)

    def add(self, message: Any) -> None:
        """Give a log message to its call, if it is known. Other notifications are ignored."""
        if isinstance(message, LoggingMessageNotification) and len(self._handlers) == 1:
            params = message.params
            self._handlers[0](LogEntry(params.level, params.logger or "", params.data))
