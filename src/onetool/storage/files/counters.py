"""Call counters in a SQLite file that all processes of a user share."""

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from onetool.domain.usage.events import CallCounter, CallEvent, count_calls
from onetool.files.sqlite_files import SqliteFile
from onetool.threads import Threads

from .on_thread import on_thread

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

    def __init__(self, file: Path, threads: Threads) -> None:
        self._threads = threads
        self._file, self._sqlite = file, SqliteFile(file, TABLE, TIMEOUT_S)

    @on_thread
    def add(self, events: Sequence[CallEvent]) -> None:
        """Add calls to the counters of their tools. Durable on return."""
        rows = [(tool_id, *counter) for tool_id, counter in count_calls(events).items()]
        if rows:
            self._sqlite.run(lambda connection: connection.executemany(ADD, rows))

    @on_thread
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

        return self._sqlite.run(read) if self._file.exists() else {}

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""
