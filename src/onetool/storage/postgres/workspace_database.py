"""The transactions of one workspace, in whichever cluster its rows are."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Literal, NamedTuple, TypeVar, cast
from uuid import UUID

import psycopg

from onetool.domain.errors import WorkspaceUnavailable

from .announcements import Announcements, Kind
from .database import READ_ONLY, WAIT_S, Cursor, Database, DatabaseCursor

MAX_WORKSPACE_CONNECTIONS = 4
"""Connections that one workspace may occupy, so that others always get some."""
MOVE_WAIT_S, MOVE_CHECK_S = 5.0, 0.2
"""Seconds for which a change waits for the end of a move, and between two attempts."""
T = TypeVar("T")


class Revisions(NamedTuple):
    """The numbers of the last changes to a workspace. Every change has a higher one than those before."""

    contents: int = 0
    """Of any kind."""
    settings: int = 0
    """To settings or secrets."""
    keys: int = 0
    """After which an API key may be invalid."""


NO_CHANGES = Revisions()
Subject = Literal["contents", "settings", "keys"]


class WorkspaceDatabase:
    """The rows of one workspace. Its stores share it."""

    def __init__(
        self,
        database: Database,
        workspace: UUID,
        known: Revisions = NO_CHANGES,
        *,
        home: Database | None = None,
        epoch: int = 0,
        relocate: "Callable[[WorkspaceDatabase], None] | None" = None,
    ) -> None:
        """Use the rows in a database.

        known: the last changes that were made before anything is read.
        home: the database with people and groups; None if it is the same one.
        epoch: of the entry in the directory that names the database.
        relocate: asks the directory where the rows are now. None: they are never moved.
        """
        self.workspace = workspace
        self.database, self._known = database, known
        """Where its rows are now."""
        self._home, self._epoch, self._relocate = home or database, epoch, relocate
        self._lock, self._writer = threading.Lock(), threading.Lock()
        self._connections = threading.BoundedSemaphore(MAX_WORKSPACE_CONNECTIONS)
        self.generation = 0
        """A number that changes with every change to the workspace."""
        self.settings_changes = 0
        """How often settings or secrets may have changed."""
        self.keys_changes = 0
        """How often an API key may have become invalid."""
        self.announcements = Announcements()
        """About single things, which revisions do not count."""

    def note(self, revisions: Revisions) -> None:
        """Note changes, of this process or others. Those that are known already are no news."""
        with self._lock:
            known = self._known
            self._known = Revisions(*map(max, known, revisions))
            self.generation += revisions.contents > known.contents
            self.settings_changes += revisions.settings > known.settings
            self.keys_changes += revisions.keys > known.keys

    def note_settings_change(self) -> None:
        """Note that settings or secrets are to be read again."""
        with self._lock:
            self.settings_changes += 1

    def move_to(self, database: Database, epoch: int) -> None:
        """Note an entry of the directory: where the rows are, or that the workspace is deleted."""
        with self._lock:
            if epoch <= self._epoch:
                return
            self.database, self._epoch = database, epoch
            self.generation += 1
            self.settings_changes += 1
            self.keys_changes += 1
        self.announcements.note_missed()

    def note_lost_changes(self) -> None:
        """Note that a standby was promoted: changes may be gone, and their numbers are used again."""
        with self._lock:
            self._known = NO_CHANGES
            self.generation += 1
            self.settings_changes += 1
            self.keys_changes += 1

    def note_people_change(self) -> None:
        """Note that rights of people may have changed.

        In the home cluster, such a change is also one of the workspace, unless it is being moved there.
        """
        with self._lock:
            self.keys_changes += 1

    @contextmanager
    def home(self, cursor: Cursor) -> Iterator[Cursor]:
        """Read what belongs to no workspace, such as people: in the same transaction if it can be."""
        if isinstance(cursor, DatabaseCursor) and cursor.database is not self._home:
            with self._home.transaction() as at_home:
                yield at_home
        else:
            yield cursor

    def announce(self, cursor: Cursor, kind: Kind, id: str) -> None:
        """Tell all processes, once the transaction is committed, that something has changed."""
        cursor.execute("select pg_notify('onetool', %s)", (f"{kind} {self.workspace} {id}",))

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """Open a transaction that reads."""
        with self._transaction(f"select onetool.begin_read('{self.workspace}')") as cursor:
            yield cursor

    @contextmanager
    def writing(self, subject: Subject = "contents") -> Iterator[Cursor]:
        """Open a transaction that changes the workspace. Other such transactions wait.

        Those of this process wait without a connection. During a move, all wait for its end.
        """
        with self._begun(subject) as (cursor, revision):
            yield cursor
        self.note(Revisions(revision)._replace(**{subject: revision}))

    @contextmanager
    def recording(self) -> Iterator[Cursor]:
        """Open a transaction that writes what is not looked at before calls: results, sessions, jobs."""
        with self._begun(None) as (cursor, _):
            yield cursor

    def add_calls(self, batch: str) -> None:
        """Write a batch of records of calls, as JSON, in a transaction that others may share."""
        self._once_moved(lambda: self._write_batch(batch))

    @contextmanager
    def _begun(self, subject: Subject | None) -> Iterator[tuple[Cursor, int]]:
        """Open a transaction that writes."""
        with ExitStack() as stack:
            yield self._once_moved(lambda: stack.enter_context(self._write_transaction(subject)))

    def _once_moved(self, write: Callable[[], T]) -> T:
        """Begin to write. During a move, wait for its end, and write where the rows are then."""
        end = time.monotonic() + MOVE_WAIT_S
        while True:
            try:
                return write()
            except _BeingMoved as error:
                if self._relocate is None or time.monotonic() >= end:
                    raise error.cause from None
            with suppress(WorkspaceUnavailable):  # the home cluster is away: perhaps the move is undone
                self._relocate(self)
            time.sleep(MOVE_CHECK_S)

    def _write_batch(self, batch: str) -> None:
        with _noting_moves():
            self.database.records.write(self.workspace, batch)

    @contextmanager
    def _write_transaction(self, subject: Subject | None) -> Iterator[tuple[Cursor, int]]:
        """Open a transaction that writes, unless the workspace is read-only.

        Raises:
            _BeingMoved: It is.
        """
        value = f"'{subject}'" if subject else "null"
        begin = f"select onetool.begin_write('{self.workspace}', {value})"
        with _held(self._writer) if subject else nullcontext(), ExitStack() as stack:
            with _noting_moves():
                cursor = stack.enter_context(self._transaction(begin))
            (revision,) = cast(tuple[int], cursor.fetchone())
            yield cursor, revision

    @contextmanager
    def _transaction(self, first: str) -> Iterator[Cursor]:
        with _held(self._connections), self.database.transaction(first) as cursor:
            yield cursor


class _BeingMoved(Exception):
    """A workspace is read-only, because it is being moved."""

    def __init__(self, cause: psycopg.Error) -> None:
        super().__init__(str(cause))
        self.cause = cause


@contextmanager
def _noting_moves() -> Iterator[None]:
    """Tell a workspace that is being moved from other failures.

    Raises:
        _BeingMoved: It is.
    """
    try:
        yield
    except psycopg.Error as error:
        raise _BeingMoved(error) if error.sqlstate == READ_ONLY else error from None


@contextmanager
def _held(limit: "threading.Lock | threading.Semaphore") -> Iterator[None]:
    """Hold a lock for the block.

    Raises:
        WorkspaceUnavailable: It was not free in time.
    """
    if not limit.acquire(timeout=WAIT_S):
        raise WorkspaceUnavailable("Other requests of the workspace occupy the database for too long.")
    try:
        yield
    finally:
        limit.release()
