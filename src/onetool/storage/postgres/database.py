"""The connections to PostgreSQL."""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from onetool.domain.errors import SettingsError, StoreUnavailable, WorkspaceReadOnly, WorkspaceUnavailable
from onetool.threads import S, threaded

from .record_batches import RecordBatches
from .timeline import Timeline

MAX_CONNECTIONS = 8
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
