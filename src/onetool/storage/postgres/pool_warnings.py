"""Warnings of connection pools, which psycopg_pool repeats for each attempt to connect."""

import logging
import time
from collections.abc import Callable

REPEAT_S = 60.0
"""Seconds after which a warning is written again."""


class RepeatedWarnings(logging.Filter):
    """Passes a warning about a pool only if it was not written in the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._written: dict[object, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write a record."""
        pool = record.args[0] if isinstance(record.args, tuple) and record.args else ""
        key = (record.msg, pool if isinstance(pool, str) else "")  # otherwise it is a connection
        now = self._clock()
        if now < self._written.get(key, -REPEAT_S) + REPEAT_S:
            return False
        self._written[key] = now
        return True


def limit_pool_warnings() -> None:
    """Write each warning of psycopg_pool at most once a minute. May be called more than once."""
    log = logging.getLogger("psycopg.pool")
    if not any(isinstance(filter, RepeatedWarnings) for filter in log.filters):
        log.addFilter(RepeatedWarnings())
