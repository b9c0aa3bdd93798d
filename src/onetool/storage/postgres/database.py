"""The connections to PostgreSQL, and the transactions of one workspace."""

import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar, cast
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from onetool.domain.errors import SettingsError, StoreUnavailable, WorkspaceReadOnly, WorkspaceUnavailable
from onetool.threads import S, threaded

from .announcements import Announcements, Kind

MAX_CONNECTIONS = 8
MAX_WORKSPACE_CONNECTIONS = 4
"""Connections that one workspace may occupy, so that others always get some."""
WAIT_S = 10.0
"""Seconds to wait for a free connection, and for a lock."""
STATEMENT_TIMEOUT_S = 30.0
IDLE_S = 300.0
"""Seconds after which an idle connection is closed."""
READ_ONLY = "OT001"
"""State of the error of a workspace that is being moved."""
SETTINGS = f"""
set role onetool_app;
set search_path = onetool, public;
set plan_cache_mode = force_custom_plan;
set enable_seqscan = off;
set max_parallel_workers_per_gather = 0;
set jit = off;
set lock_timeout = '{WAIT_S:.0f}s';
set statement_timeout = '{STATEMENT_TIMEOUT_S:.0f}s';
set idle_in_transaction_session_timeout = '{STATEMENT_TIMEOUT_S:.0f}s'
"""
"""The role can neither change tables nor see rows of another workspace than that of its transaction.

Every query is short and about one workspace: to scan a whole table would be to read all other ones.
"""

Cursor = psycopg.Cursor[TupleRow]


class Database:
    """A pool of connections for all workspaces. Transactions block: they run on threads."""

    def __init__(self, url: str, *, max_connections: int = MAX_CONNECTIONS, wait_s: float = WAIT_S) -> None:
        """Open the pool. Connections are made when they are needed.

        Raises:
            SettingsError: The URL is invalid.
        """
        check_url(url)
        self._pool: ConnectionPool[psycopg.Connection] = ConnectionPool(
            url,
            min_size=0,
            max_size=max_connections,
            open=False,
            timeout=wait_s,
            max_idle=IDLE_S,
            num_workers=1,
            configure=_configure,
            kwargs={"prepare_threshold": None, "connect_timeout": int(WAIT_S)},
            name="onetool-postgres",
        )
        self._pool.open()
        self.is_away = False
        """Whether the database is known to be away. Transactions then fail at once."""

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """Open a transaction outside of any workspace, which sees only the directory of workspaces.

        Raises:
            WorkspaceUnavailable: The database is away.
        """
        if self.is_away:
            raise WorkspaceUnavailable("The database is away.")
        with self._pool.connection() as connection, connection.cursor() as cursor:
            yield cursor

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
            with self._pool.connection(wait_s) as connection:
                use(connection)
            self.note_return()
        except psycopg.Error:
            self.is_away = True
            raise

    def close(self) -> None:
        """Close all connections. May be called more than once."""
        self._pool.close()


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

    def __init__(self, database: Database, workspace: UUID, known: Revisions = NO_CHANGES) -> None:
        """known: the last changes that were made before anything is read."""
        self.workspace = workspace
        self._database, self._known = database, known
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

    def announce(self, cursor: Cursor, kind: Kind, id: str) -> None:
        """Tell all processes, once the transaction is committed, that something has changed."""
        cursor.execute("select pg_notify('onetool', %s)", (f"{kind} {self.workspace} {id}",))

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """Open a transaction that reads."""
        with self._transaction() as cursor:
            cursor.execute("select onetool.begin_read(%s)", (self.workspace,))
            yield cursor

    @contextmanager
    def writing(self, subject: Subject = "contents") -> Iterator[Cursor]:
        """Open a transaction that changes the workspace. Other such transactions wait.

        Those of this process wait without a connection.
        """
        with _held(self._writer), self._transaction() as cursor:
            revision = self._begin_write(cursor, subject)
            yield cursor
        self.note(Revisions(revision)._replace(**{subject: revision}))

    @contextmanager
    def recording(self) -> Iterator[Cursor]:
        """Open a transaction that writes what is not looked at before calls: results, sessions, jobs."""
        with self._transaction() as cursor:
            self._begin_write(cursor, None)
            yield cursor

    @contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        with _held(self._connections), self._database.transaction() as cursor:
            yield cursor

    def _begin_write(self, cursor: Cursor, subject: Subject | None) -> int:
        cursor.execute("select onetool.begin_write(%s, %s)", (self.workspace, subject))
        (revision,) = cast(tuple[int], cursor.fetchone())
        return revision


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
T = TypeVar("T")


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


def _configure(connection: psycopg.Connection) -> None:
    connection.execute(SETTINGS.encode())
    connection.commit()
