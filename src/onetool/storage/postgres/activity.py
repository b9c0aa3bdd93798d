"""The records of calls in PostgreSQL.

calls, call_bodies      records, numbered in the order in which they were stored
call_hours              usage by hour and tool
session_savings         savings by session
tool_counters           counters by tool

One transaction writes a batch of records together with the figures that are derived from it.
"""

import threading
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from onetool.domain.activity.record import ActivityFilter, CallRecord
from onetool.domain.activity.rollup import RollUp
from onetool.domain.page import Page
from onetool.domain.usage.summary import CallCounter, UsageSummary
from onetool.threads import Threads

from . import activity_queries as queries
from . import activity_writes as writes
from .database import Cursor, on_thread
from .texts import is_storable
from .workspace_database import WorkspaceDatabase

MAX_CHUNKS = 100
"""Transactions of one clean-up. The next one goes on."""
FREE_SHARE = 0.9
"""Share of the allowed size to which old records are deleted, so that not every clean-up deletes some."""


class PostgresActivity:
    """Stores records. Characters that PostgreSQL refuses are replaced."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads
        self._writes, self._lock = 0, threading.Lock()

    def generation(self) -> Hashable:
        """Return the number of writes of this process."""
        return self._writes

    @on_thread
    def add(self, records: Sequence[CallRecord], figures: RollUp) -> None:
        """Store records and add figures. Durable on return."""
        self._workspace.add_calls(writes.to_batch(records, figures))
        self._note_write()

    @on_thread
    def page(self, filter: ActivityFilter, cursor: str | None, limit: int) -> Page[CallRecord]:
        """Return records, newest first. Searches a limited number of them."""
        filter.check()
        with self._workspace.reading() as reading:
            return queries.page(reading, filter, cursor, limit)

    @on_thread
    def get(self, id: str) -> CallRecord | None:
        """Return the record of a call."""
        if not is_storable(id):
            return None
        with self._workspace.reading() as cursor:
            return queries.get(cursor, id)

    @on_thread
    def tree(self, id: str) -> Sequence[CallRecord]:
        """Return a call and all calls inside it."""
        if not is_storable(id):
            return ()
        with self._workspace.reading() as cursor:
            return queries.tree(cursor, id)

    @on_thread
    def summarize(self, since: float | None) -> UsageSummary:
        """Summarize the usage since a time, or of all time."""
        with self._workspace.reading() as cursor:
            return queries.summarize(cursor, since)

    @on_thread
    def counters(self, tool_ids: Collection[str]) -> Mapping[str, CallCounter]:
        """Return the counters of the tools that were called at least once."""
        with self._workspace.reading() as cursor:
            return queries.counters(cursor, tool_ids)

    @on_thread
    def delete_old(self, before: float, max_bytes: int) -> None:
        """Delete old records, and the oldest bodies and records while all together are too large."""
        with self._writing() as cursor:
            writes.join_hours(cursor)
        for _ in range(MAX_CHUNKS):
            with self._writing() as cursor:
                if not writes.delete_expired(cursor, before):
                    break
        with self._workspace.reading() as cursor:
            size = writes.used_bytes(cursor)
        if size > max_bytes:
            self._shrink(size, max_bytes * FREE_SHARE)

    def _shrink(self, size: int, max_bytes: float) -> None:
        for _ in range(MAX_CHUNKS):
            if size <= max_bytes:
                break
            with self._writing() as cursor:
                deleted = writes.delete_oldest(cursor)
            if not deleted:
                break
            size -= deleted

    async def aclose(self) -> None:
        """Do nothing: connections belong to the process."""

    @contextmanager
    def _writing(self) -> Iterator[Cursor]:
        """Open a transaction that changes records. Others that write some wait for its end."""
        with self._workspace.recording() as cursor:
            writes.lock(cursor)
            yield cursor
        self._note_write()

    def _note_write(self) -> None:
        with self._lock:
            self._writes += 1
