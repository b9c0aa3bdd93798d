"""The connections to PostgreSQL."""

import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from onetool.domain.errors import SettingsError, StoreUnavailable, WorkspaceReadOnly, WorkspaceUnavailable
from onetool.threads import S, threaded

from .pool_warnings import limit_pool_warnings
from .record_batches import RecordBatches
from .timed_connection import DatabaseHangs, TimedConnection
from .timeline import Timeline

log = logging.getLogger(__name__)
MAX_CONNECTIONS = 8
WAIT_S = 10.0
"""Seconds to wait for a free connection, and for a lock."""
STATEMENT_TIMEOUT_S = 30.0
IDLE_TRANSACTION_S = 4.0
"""Seconds after which PostgreSQL ends an idle transaction: its process hangs, or its machine has failed.

Other processes may wait twice as long for its locks, because these may first pass to other transactions of
the same process. In the middle of a pipeline, PostgreSQL would not end it, nor a statement. So no transaction
uses one, nor `executemany`, which does.
"""
RECONNECT_S = 1.0
"""If there is no open connection: seconds of failed attempts after which the database counts as away."""
CONNECTION = {
    "connect_timeout": 3,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}
"""The first limits an attempt to connect to one host, the others detect lost connections.

In seconds, except for `keepalives_count` (attempts) and `tcp_user_timeout` (milliseconds).
"""
IDLE_S = 300.0
"""Seconds after which an idle connection is closed."""
READ_ONLY = "OT001"
"""SQLSTATE of the error for a change of a workspace that is being moved."""
_SETTINGS = (
    "role onetool_app",
    "search_path = onetool, public",
    "plan_cache_mode = force_custom_plan",
    "enable_seqscan = off",
    "max_parallel_workers_per_gather = 0",
    "jit = off",
    f"lock_timeout = '{WAIT_S:.0f}s'",
    f"statement_timeout = '{STATEMENT_TIMEOUT_S:.0f}s'",
    f"idle_in_transaction_session_timeout = '{IDLE_TRANSACTION_S:.0f}s'",
)
"""The role can neither change tables nor see rows of another workspace than that of its transaction.

Every query is short and about one workspace. A scan of a whole table would read all other workspaces.
"""
SETTINGS = "; ".join(f"set {setting}" for setting in _SETTINGS)
"""For a connection that is not pooled."""
BEGIN = "; ".join(["begin", *(f"set local {setting}" for setting in _SETTINGS)])
"""Behind PgBouncer, each transaction may use another connection, so settings end with the transaction."""

Cursor = psycopg.Cursor[TupleRow]
T = TypeVar("T")


class DatabaseCursor(Cursor):
    """A cursor of a transaction, with the database that it belongs to."""

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
        self._address = _address(url)
        self._timeline = Timeline()
        limit_pool_warnings()
        self._pool: ConnectionPool[TimedConnection] = ConnectionPool(
            url,
            connection_class=TimedConnection,
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
            name=self._address,
        )
        self._pool.open()
        self.records = RecordBatches(self.transaction)
        self.is_away = False
        """Whether the database is known to be away. Transactions then fail at once."""
        self._available_since = time.monotonic()

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
            psycopg.OperationalError: The server is not the primary, or is no longer the primary.
        """
        self._timeline.check(connection)

    @property
    def timeline(self) -> int:
        """The number of the newest timeline that was seen. A promotion, which may lose changes, raises it."""
        return self._timeline.newest

    @property
    def available_s(self) -> float:
        """The seconds since the database was last known to be away, or the process began."""
        return 0.0 if self.is_away else time.monotonic() - self._available_since

    def note_return(self) -> None:
        """Note that the database responds, and close the connections that were opened before.

        They may lead to a server that hangs, so nothing waits for them.
        """
        self._pool.drain()
        self._pool.check()  # it is empty now: this only opens connections for waiting requests
        if self.is_away:
            log.warning("the database %s responds again", self._address)
            self._available_since = time.monotonic()
        self.is_away = False

    def try_connection(
        self, use: Callable[[psycopg.Connection], None], wait_s: float, answer_s: float
    ) -> None:
        """Use a connection, and note whether the database is away.

        wait_s: for a connection. answer_s: for each response.

        Raises:
            psycopg.Error: There is no connection, or the database has failed.
        """
        try:
            with self._begun(wait_s=wait_s, answer_s=answer_s) as cursor:
                use(cursor.connection)
            if self.is_away:
                self.note_return()
        except psycopg.Error as error:
            self._note_away(type(error).__name__)
            raise

    def pool_figures(self) -> Mapping[str, int]:
        """Return the figures of the pool, as psycopg_pool names them. Does not wait."""
        return self._pool.get_stats()

    def close(self) -> None:
        """Close all connections. May be called more than once."""
        self._pool.close()

    @contextmanager
    def _begun(
        self, first: str = "", wait_s: float | None = None, answer_s: float | None = None
    ) -> Iterator[Cursor]:
        with self._pool.connection(wait_s) as connection, DatabaseCursor(connection) as cursor:
            cursor.database, connection.answer_s = self, answer_s
            try:
                cursor.execute(f"{BEGIN}; {first}".encode())
                yield cursor.set_result(-1)
            finally:
                if connection.broken:  # then others may be lost too
                    self._pool.check()

    def _note_loss(self, pool: ConnectionPool[TimedConnection]) -> None:
        if pool.get_stats()["pool_size"] == 0:
            self._note_away("it has refused all connections")

    def _note_away(self, reason: str) -> None:
        if not self.is_away:
            log.error("the database %s is away: %s", self._address, reason)
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
    except DatabaseHangs as error:
        raise WorkspaceUnavailable("The database does not respond.") from error
    except psycopg.errors.LockNotAvailable as error:
        raise WorkspaceUnavailable("Another change of the workspace takes too long.") from error
    except psycopg.Error as error:
        if error.sqlstate == READ_ONLY:
            raise _read_only() from error
        raise WorkspaceUnavailable(f"The database failed: {type(error).__name__}.") from error


def _read_only() -> WorkspaceReadOnly:
    return WorkspaceReadOnly("The workspace is read-only for a moment, because it is being moved.")


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


def _address(url: str) -> str:
    """Return what the log shows of a database: hosts, ports and name."""
    parts = psycopg.conninfo.conninfo_to_dict(url)
    host, port, name = (parts.get(key) or "" for key in ("host", "port", "dbname"))
    return f"{host}:{port}/{name}"


@contextmanager
def connect(
    url: str, *, autocommit: bool = False, answer_s: float | None = None
) -> Iterator[TimedConnection]:
    """Open a separate connection, for administration.

    answer_s: seconds for one statement. None: as many as for other connections.

    Raises:
        SettingsError: The URL is invalid.
        WorkspaceReadOnly: The block changed a workspace that is being moved.
        WorkspaceUnavailable: The database cannot be reached, or does not respond.
        StoreUnavailable: The block raised another error of the database.
    """
    check_url(url)
    options: dict[str, Any] = CONNECTION | {"connect_timeout": int(WAIT_S)}
    try:
        with TimedConnection.connect(url, autocommit=autocommit, **options) as connection:
            connection.answer_s = answer_s
            yield connection
    except psycopg.Error as error:
        if error.sqlstate == READ_ONLY:
            raise _read_only() from error
        is_away = isinstance(error, psycopg.OperationalError)
        raise (WorkspaceUnavailable if is_away else StoreUnavailable)(
            f"Cannot use the database: {str(error).strip()}"
        ) from error
