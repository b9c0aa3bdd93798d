"""The records of calls in a SQLite file that all processes of a user share.

activity.sqlite3    calls and their bodies; usage by hour and tool, savings by session, counters by tool

One transaction writes a batch of records together with the figures that are derived from it.
"""

import sqlite3
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from onetool.domain.activity.record import ActivityFilter, CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.page import Page
from onetool.domain.usage.summary import CallCounter, UsageSummary
from onetool.files.fingerprint import fingerprint
from onetool.files.sqlite_files import OpenSqliteFile
from onetool.threads import Threads

from . import activity_queries as queries
from .on_thread import on_thread

T = TypeVar("T")
TIMEOUT_S = 10.0
"""How long a writer waits for other processes."""
MAX_CHUNKS = 100
"""Transactions of one clean-up. The next one goes on."""
FREE_SHARE = 0.9
"""Share of the allowed size to which old records are deleted, so that not every call deletes some."""


class FileActivity:
    """Stores records. Renames a corrupt file and starts a new one."""

    def __init__(self, file: Path, threads: Threads) -> None:
        self._threads, self._path = threads, str(file)
        self._file, self._sqlite = file, OpenSqliteFile(file, queries.TABLES, TIMEOUT_S)

    def generation(self) -> Hashable:
        """Return the state of the file and of its log."""
        return fingerprint(self._path), fingerprint(f"{self._path}-wal")

    @on_thread
    def add(self, records: Sequence[CallRecord], figures: RollUp) -> None:
        """Store records and add figures. A process that is killed afterwards does not lose them."""

        def insert(connection: sqlite3.Connection) -> None:
            queries.insert_records(connection, records)
            queries.add_figures(connection, figures)

        self._write(insert)

    @on_thread
    def page(self, filter: ActivityFilter, cursor: str | None, limit: int) -> Page[CallRecord]:
        """Return records, newest first. Searches a limited number of them."""
        filter.check()
        return self._read(lambda connection: queries.page(connection, filter, cursor, limit), Page([]))

    @on_thread
    def get(self, id: str) -> CallRecord | None:
        """Return the record of a call."""
        return self._read(lambda connection: queries.get(connection, id), None)

    @on_thread
    def tree(self, id: str) -> Sequence[CallRecord]:
        """Return a call and all calls inside it."""
        return self._read(lambda connection: queries.tree(connection, id), ())

    @on_thread
    def summarize(self, since: float | None) -> UsageSummary:
        """Summarize the usage since a time, or of all time."""
        return self._read(lambda connection: queries.summarize(connection, since), UsageSummary())

    @on_thread
    def counters(self, tool_ids: Collection[str]) -> Mapping[str, CallCounter]:
        """Return the counters of the tools that were called at least once."""
        return self._read(lambda connection: queries.counters(connection, list(tool_ids)), {})

    @on_thread
    def delete_old(self, before: float, max_bytes: int) -> None:
        """Delete old records, and the oldest bodies and records while the file is too large."""
        if not self._has_tables():
            return
        self._write(queries.join_hours)
        for _ in range(MAX_CHUNKS):
            if not self._write(lambda connection: queries.delete_expired(connection, before)):
                break
        if self._sqlite.run(queries.used_bytes) > max_bytes:
            for _ in range(MAX_CHUNKS):
                is_small = self._sqlite.run(queries.used_bytes) <= max_bytes * FREE_SHARE
                if is_small or not self._write(queries.delete_oldest):
                    break

    @on_thread
    def aclose(self) -> None:
        """Close the file."""
        self._sqlite.close()

    def _read(self, use: Callable[[sqlite3.Connection], T], missing: T) -> T:
        return self._sqlite.read(use) if self._has_tables() else missing

    def _has_tables(self) -> bool:
        """Return whether a process has written to the file. On a full disk, it may have stayed empty."""
        try:
            return self._file.stat().st_size > 0
        except OSError:
            return False

    def _write(self, use: Callable[[sqlite3.Connection], T]) -> T:
        def run(connection: sqlite3.Connection) -> T:
            connection.execute("begin immediate")
            return use(connection)

        return self._sqlite.run(run)
