"""Call counters in a SQLite file that all processes of a user share."""

import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from onetool.domain.usage.events import CallCounter, CallEvent, count_calls
from onetool.files.corrupt_files import move_corrupt_file
from onetool.files.sqlite_files import connect_private

log = logging.getLogger(__name__)
T = TypeVar("T")

TIMEOUT_S = 5.0
"""How long a writer waits for another process."""
BATCH_SIZE = 500
TABLE = """
create table if not exists counters (
    tool_id text primary key, calls integer not null, last_called_at real not null
) without rowid
"""
ADD = """
insert into counters values (?, ?, ?) on conflict (tool_id) do update
set calls = calls + excluded.calls, last_called_at = max(last_called_at, excluded.last_called_at)
"""


class FileCounters:
    """Stores one row per tool. Renames a corrupt file and starts a new one."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def add(self, events: Sequence[CallEvent]) -> None:
        """Add calls to the counters of their tools. Durable on return."""
        rows = [(tool_id, *counter) for tool_id, counter in count_calls(events).items()]

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.executemany(ADD, rows)

        if rows:
            self._with_file(write)

    def find(self, tool_ids: Collection[str]) -> Mapping[str, CallCounter]:
        """Return the counters of the tools that were called at least once."""
        ids = list(tool_ids)

        def read(connection: sqlite3.Connection) -> dict[str, CallCounter]:
            counters: dict[str, CallCounter] = {}
            for start in range(0, len(ids), BATCH_SIZE):
                batch = ids[start : start + BATCH_SIZE]
                marks = ",".join("?" * len(batch))
                rows = connection.execute(f"select * from counters where tool_id in ({marks})", batch)  # noqa: S608 - values are bound
                counters |= {tool_id: CallCounter(calls, at) for tool_id, calls, at in rows}
            return counters

        return self._with_file(read) if self._file.exists() else {}

    def _with_file(self, use: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._open(use)
        except sqlite3.OperationalError:  # locked, or the disk is full: the file is intact
            raise
        except sqlite3.DatabaseError as error:
            log.error("moved corrupt file %s to %s: %s", self._file, move_corrupt_file(self._file), error)
            return self._open(use)

    def _open(self, use: Callable[[sqlite3.Connection], T]) -> T:
        with closing(connect_private(self._file, TIMEOUT_S)) as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute(TABLE)
            return use(connection)
