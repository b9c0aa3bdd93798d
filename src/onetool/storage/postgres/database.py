"""The connections to PostgreSQL, and the transactions of one workspace."""

import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar, cast
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from onetool.domain.errors import SettingsError, StoreUnavailable, WorkspaceReadOnly, WorkspaceUnavailable
from onetool.threads import S, threaded

from .announcements import Announcements, Kind
from .record_batches import RecordBatches
from .timeline import Timeline

MAX_CONNECTIONS = 8
MAX_WORKSPACE_CONNECTIONS = 4
"""Connections that one workspace may occupy, so that others always get some."""
WAIT_S = 10.0
"""Seconds to wait for a free connection, and for a lock."""
STATEMENT_TIMEOUT_S = 30.0
RECONNECT_S = 1.0
"""Seconds of failed attempts to connect after which a database without any connection counts as away."""
CONNECTION = {
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}
"""Seconds for each host of the URL; then seconds, attempts and milliseconds until a connection is lost."""
IDLE_S = 300.0
"""Seconds after which an idle connection is closed."""
READ_ONLY = "OT001"
"""State of the error of a workspace that is being moved."""
MOVE_WAIT_S, MOVE_CHECK_S = 5.0, 0.2
"""Seconds for which a change waits for the end of a move, and between two attempts."""
_SETTINGS = (
    "role onetool_app",
    "search_path = onetool, public",
    "plan_cache_mode = force_custom_plan",
    "enable_seqscan = off",
    "max_parallel_workers_per_gather = 0",
    "jit = off",
    f"lock_timeout = '{WAIT_S:.0f}s'",
    f"statement_timeout = '{STATEMENT_TIMEOUT_S:.0f}s'",
    f"idle_in_transaction_session_timeout = '{STATEMENT_TIMEOUT_S:.0f}s'",
)
"""The role can neither change tables nor see rows of another workspace than that of its transaction.

Every query is short and about one workspace: to scan a whole table would be to read all other ones.
"""
SETTINGS = "; ".join(f"set {setting}" for setting in _SETTINGS)
"""For a connection that is not pooled."""
BEGIN = "; ".join(["begin", *(f"set local {setting}" for setting in _SETTINGS)])
"""Behind PgBouncer, each transaction may have another connection, so nothing is set for longer than one."""

Cursor = psycopg.Cursor[TupleRow]
T = TypeVar("T")


class DatabaseCursor(Cursor):
    """A cursor of a transaction, which knows where it is."""

    database: "Database"


class Database:
    """A pool of connections for all workspaces. Transactions block: they run on threads."""

    def __init__(self, url: str, *, max_connections: int = MAX_CONNECTIONS, wait_s: float = WAIT_S) -> None:
        """Open the pool. Connections are made when they are needed.

        url: of the database, or of a PgBouncer before it.

        Raises:
            SettingsError: The URL is invalid.
        """
        check_url(url)
        self._timeline = Timeline()
        self._pool: ConnectionPool[psycopg.Connection] = ConnectionPool(
            url,
            min_size=0,
            max_size=max_connections,
            open=False,
            timeout=wait_s,
            max_idle=IDLE_S,
            reconnect_timeout=RECONNECT_S,
            num_workers=1,
            reconnect_failed=self._note_loss,
            configure=self.check_primary,
            kwargs={"autocommit": True, "prepare_threshold": None, **CONNECTION},
            name="onetool-postgres",
        )
        self._pool.open()
        self.records = RecordBatches(self.transaction)
        self.is_away = False
        """Whether the database is known to be away. Transactions then fail at once."""

    @contextmanager
    def transaction(self, first: str = "") -> Iterator[Cursor]:
        """Open a transaction. Outside of any workspace, it sees only the directory of workspaces.

        first: the first statement, which needs no round trip of its own. Its result can be fetched.

        Raises:
            WorkspaceUnavailable: The database is away.
        """
        if self.is_away:
            raise WorkspaceUnavailable("The database is away.")
        with self._begun(first) as cursor:
            yield cursor

    def check_primary(self, connection: psycopg.Connection) -> None:
        """Check a new connection.

        Raises:
            psycopg.OperationalError: It is one to a server that is not the primary, or not any more.
        """
        self._timeline.check(connection)

    def note_return(self) -> None:
        """Note that the database is there, perhaps again: connections from before are lost then."""
        self._pool.check()
        self.is_away = False

    def try_connection(self, use: Callable[[psycopg.Connection], None], wait_s: float) -> None:
        """Use a connection, and note whether the database is away.

        Raises:
            psycopg.Error: There is no connection, or the database has failed.
        """
        try:
            with self._begun(wait_s=wait_s) as cursor:
                use(cursor.connection)
            self.note_return()
        except psycopg.Error:
            self.is_away = True
            raise

    def pool_figures(self) -> Mapping[str, int]:
        """Return the figures of the pool, as psycopg_pool names them. Does not wait."""
        return self._pool.get_stats()

    def close(self) -> None:
        """Close all connections. May be called more than once."""
        self._pool.close()

    @contextmanager
    def _begun(self, first: str = "", wait_s: float | None = None) -> Iterator[Cursor]:
        with self._pool.connection(wait_s) as connection, DatabaseCursor(connection) as cursor:
            cursor.database = self
            try:
                cursor.execute(f"{BEGIN}; {first}".encode())
                yield cursor.set_result(-1)
            finally:
                if connection.broken:  # then others are lost too
                    self._pool.check()

    def _note_loss(self, pool: ConnectionPool[psycopg.Connection]) -> None:
        if pool.get_stats()["pool_size"] == 0:
            self.is_away = True


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

    def note_people_change(self) -> None:
        """Note that rights of people may have changed, unless their change is a change of the workspace."""
        with self._lock:
            self.keys_changes += self.database is not self._home

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


P = ParamSpec("P")


def on_thread(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a blocking method of a store a coroutine that runs on the store's threads.

    Errors of the database become WorkspaceUnavailable.
    """
    return threaded(method, store_errors)


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn errors of the database into those of stores.

    Raises:
        WorkspaceReadOnly: The workspace is being moved.
        WorkspaceUnavailable: The database cannot be reached, or a lock was held for too long.
    """
    try:
        yield
    except PoolTimeout as error:
        raise WorkspaceUnavailable("The database has no free connection, or cannot be reached.") from error
    except psycopg.Error as error:
        if error.sqlstate == READ_ONLY:
            raise WorkspaceReadOnly("The workspace is read-only for a moment. Try again.") from error
        raise WorkspaceUnavailable(f"The database failed: {type(error).__name__}.") from error


def check_url(url: str) -> None:
    """Check the URL of a database.

    Raises:
        SettingsError: It is invalid. The message does not quote it, because it may contain a password.
    """
    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        message = "The URL of the database is invalid. Example: postgresql://user:password@host:5432/onetool"
        raise SettingsError(message) from None


@contextmanager
def connect(url: str, *, autocommit: bool = False) -> Iterator[psycopg.Connection]:
    """Open a connection of its own, for administration.

    Raises:
        SettingsError: The URL is invalid.
        StoreUnavailable: The database cannot be reached, or the block raised an error of the database.
    """
    check_url(url)
    try:
        with psycopg.connect(url, autocommit=autocommit, connect_timeout=int(WAIT_S)) as connection:
            yield connection
    except psycopg.Error as error:
        raise StoreUnavailable(f"Cannot use the database: {str(error).strip()}") from error
