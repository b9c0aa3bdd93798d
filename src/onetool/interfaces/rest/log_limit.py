"""A limit for log entries that are repeated, for instance by each malformed request."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

MAX_REPEATS, PERIOD_S = 10, 60.0
"""Entries with the same first line that are logged in a period."""
MAX_MESSAGES = 100
"""Different messages in memory; the oldest is forgotten first."""


@dataclass(slots=True)
class Repeats:
    """How often a message was logged since a time."""

    since: float
    number: int = 0


class RepeatFilter(logging.Filter):
    """Drops an entry that was logged too often. The next one that is logged says how many were dropped."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._lock = clock, threading.Lock()
        self._messages: OrderedDict[str, Repeats] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a record. Adds the number of dropped ones to its message."""
        message = record.getMessage()
        with self._lock:
            is_logged, dropped = self._count(f"{record.name} {message.partition(chr(10))[0]}")
        if dropped:
            record.msg, record.args = f"{message} ({dropped} more were not logged)", ()
        return is_logged

    def _count(self, key: str) -> tuple[bool, int]:
        """Return whether to log an entry, and how many were dropped in the period before."""
        now, dropped = self._clock(), 0
        repeats = self._messages.get(key)
        if repeats is None or now - repeats.since >= PERIOD_S:
            dropped = max(0, repeats.number - MAX_REPEATS) if repeats else 0
            repeats = self._messages[key] = Repeats(now)
            self._messages.move_to_end(key)
            if len(self._messages) > MAX_MESSAGES:
                self._messages.popitem(last=False)
        repeats.number += 1
        return repeats.number <= MAX_REPEATS, dropped


@contextmanager
def limit_repeats(loggers: Sequence[str]) -> Iterator[None]:
    """Limit the repeated entries of loggers, but not of their children."""
    limit = RepeatFilter()
    for name in loggers:
        logging.getLogger(name).addFilter(limit)
    try:
        yield
    finally:
        for name in loggers:
            logging.getLogger(name).removeFilter(limit)
