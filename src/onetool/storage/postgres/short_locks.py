"""Changes to tables in use: each waits for locks only for a moment, because requests wait behind it."""

import time
from collections.abc import Callable

import psycopg

from onetool.domain.errors import StoreUnavailable

LOCK_S = 1.0
"""Seconds to wait for a lock."""
PAUSE_S = 1.0
"""Seconds in which waiting requests go on, until the next attempt."""
ATTEMPTS = 60


def with_short_locks(
    connection: psycopg.Connection, name: str, change: Callable[[], None], report: Callable[[str], None]
) -> None:
    """Run a change in a transaction, and repeat it while tables are locked by others.

    Raises:
        StoreUnavailable: They were locked at every attempt.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            report(f"{name} waits for other transactions")
            time.sleep(PAUSE_S)
        try:
            with connection.transaction():
                connection.execute(f"set local lock_timeout = '{LOCK_S:.0f}s'")
                change()
            return
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            continue
    raise StoreUnavailable(
        f"{name} was not applied: other transactions have used its tables at each of {ATTEMPTS} attempts. "
        "End long transactions (see pg_stat_activity), and run: onetool migrate"
    )
