"""Batches of records of many workspaces, written in one transaction.

While one is written, others wait and are then written together: with many workspaces, a transaction for each
of them would cost PostgreSQL several times as much.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import PoolTimeout

MAX_BATCHES, MAX_BYTES = 100, 4 * 2**20
"""Limits of one transaction."""
LIMITS = """
select set_config('lock_timeout', '50ms', true), set_config('idle_in_transaction_session_timeout', '1s', true)
"""
"""Neither a longer change of one workspace nor a process that hangs delays the records of others."""
LOST_CONNECTION = ("08", "57P")
"""Prefixes of the SQLSTATE of errors that end a connection, perhaps in the middle of a commit.

Those of the server have the second one, those of PgBouncer the first.
"""
ADD = "select onetool.add_calls(id, batch::json) from unnest(%s::uuid[], %b::text[]) as batches (id, batch)"


@dataclass(eq=False, slots=True)
class _Batch:
    workspace: UUID
    content: str
    is_written: bool = False
    problem: str = ""
    """Why it is not known whether it was written."""
    has_ended: threading.Event = field(default_factory=threading.Event)


class RecordBatches:
    """Writes batches of records to one database. Blocks, on any number of threads."""

    def __init__(
        self, transaction: Callable[[str], AbstractContextManager[psycopg.Cursor[TupleRow]]]
    ) -> None:
        """transaction: opens one, outside of any workspace, and runs its first statement."""
        self._transaction = transaction
        self._waiting: deque[_Batch] = deque()
        self._lock, self._writer = threading.Lock(), threading.Lock()

    @property
    def waiting(self) -> int:
        """The number of batches that wait to be written."""
        return len(self._waiting)

    def write(self, workspace: UUID, content: str) -> None:
        """Write a batch, together with others or alone.

        Raises:
            psycopg.Error: It was not written, or it is not known whether it was.
        """
        batch = _Batch(workspace, content)
        with self._lock:
            self._waiting.append(batch)
        while not batch.has_ended.is_set():
            with self._writer:
                if not batch.has_ended.is_set():
                    self._write_waiting(batch)
        if batch.problem:
            raise psycopg.OperationalError(batch.problem)
        if not batch.is_written:
            self._write([batch])

    def _write_waiting(self, own: _Batch) -> None:
        """Write the waiting batches. If no transaction can be opened, remove the own batch from the queue."""
        batches = self._take()
        try:
            self._write(batches, LIMITS)
        except BaseException as error:
            if isinstance(error, PoolTimeout) or not isinstance(error, psycopg.Error):
                self._forget(own)
                raise
            if not _is_undone(error):
                for batch in batches:
                    batch.problem = str(error)
            # otherwise each is then written alone, and its writer gets its error
        finally:
            for batch in batches:
                batch.has_ended.set()

    def _forget(self, batch: _Batch) -> None:
        with self._lock, suppress(ValueError):  # it was taken already
            self._waiting.remove(batch)

    def _take(self) -> list[_Batch]:
        taken, size = list[_Batch](), 0
        with self._lock:
            while self._waiting and len(taken) < MAX_BATCHES:
                size += len(self._waiting[0].content)
                if taken and size > MAX_BYTES:
                    break
                taken.append(self._waiting.popleft())
        # all processes lock workspaces in the same order
        return sorted(taken, key=lambda batch: batch.workspace)

    def _write(self, batches: Sequence[_Batch], first: str = "") -> None:
        with self._transaction(first) as cursor:
            values = [batch.workspace for batch in batches], [batch.content for batch in batches]
            cursor.execute(ADD, values)
        for batch in batches:
            batch.is_written = True


def _is_undone(error: psycopg.Error) -> bool:
    """Return whether a failed transaction stored nothing. If the connection was lost, this is unknown."""
    return error.sqlstate is not None and not error.sqlstate.startswith(LOST_CONNECTION)
