"""How often each tool was called, in one small SQLite file that all processes of a user share."""

import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from onetool.domain.usage import CallEvent, Counter, count_calls
from onetool.files.atomic import PRIVATE_DIR
from onetool.files.quarantine import set_aside

log = logging.getLogger(__name__)
T = TypeVar("T")

PATIENCE = 5.0
"""Seconds that a writer waits for another process."""
AT_ONCE = 500
TABLE = """
create table if not exists counters (
    tool_id text primary key, calls integer not null, last_called_at real not null
) without rowid
"""
ADD = """
insert into counters values (?, ?, ?) on conflict (tool_id) do update
set calls = calls + excluded.calls, last_called_at = max(last_called_at, excluded.last_called_at)
"""


class SqliteCounters:
    """A row for each tool; a damaged file is set aside and a new one begun."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, events: Sequence[CallEvent]) -> None:
        """Count these calls."""
        counted = count_calls(events)
        rows = [(tool_id, *counter) for tool_id, counter in counted.items()]

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany(ADD, rows)

        if rows:
            self._with_file(write)

    def find(self, tool_ids: Collection[str]) -> Mapping[str, Counter]:
        """Return the counters of those tools that were ever called."""
        wanted = list(tool_ids)

        def read(connection: sqlite3.Connection) -> dict[str, Counter]:
            found: dict[str, Counter] = {}
            for start in range(0, len(wanted), AT_ONCE):
                some = wanted[start : start + AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = connection.execute(f"select * from counters where tool_id in ({marks})", some)  # noqa: S608
                found |= {tool_id: Counter(calls, at) for tool_id, calls, at in rows}
            return found

        return self._with_file(read) if self._file.exists() else {}

    def _with_file(self, use: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._open(use)
        except sqlite3.OperationalError:  # busy, or the disk is full: the file itself is sound
            raise
        except sqlite3.DatabaseError as error:
            log.error("%s is damaged and set aside as %s: %s", self._file, set_aside(self._file), error)
            return self._open(use)

    def _open(self, use: Callable[[sqlite3.Connection], T]) -> T:
        self._file.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
        with closing(sqlite3.connect(self._file, timeout=PATIENCE)) as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute(TABLE)
            return use(connection)
