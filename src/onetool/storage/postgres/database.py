"""The connections to PostgreSQL, and the transactions of one workspace."""

import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast
from uuid import UUID

import psycopg
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolTimeout

from onetool.domain.errors import StoreUnavailable, WorkspaceReadOnly
from onetool.threads import Threads

MAX_CONNECTIONS = 8
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
        self.transaction_count = 0
        """How many transactions were begun so far, about."""

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """Open a transaction outside of any workspace, which sees only the directory of workspaces."""
        self.transaction_count += 1
        with self._pool.connection() as connection, connection.cursor() as cursor:
            yield cursor

    def close(self) -> None:
        """Close all connections. May be called more than once."""
        self._pool.close()


class WorkspaceDatabase:
    """The rows of one workspace. Its stores share it."""

    def __init__(self, database: Database, workspace: UUID) -> None:
        self.workspace = workspace
        self._database = database
        self._lock, self._revision = threading.Lock(), 0
        self._own: dict[int | None, bool] = {}
        """The revisions of transactions in progress in this process, and whether each was announced."""
        self.settings_changes = 0
        """How often settings or secrets were changed, as far as this process knows."""

    @property
    def revision(self) -> int:
        """A number in memory that changes with every change to what the workspace contains."""
        return self._revision

    def note_change(self, revision: int | None) -> None:
        """Note a change in another process: anything may be different, also the settings.

        revision: the announced one; None if announcements were missed.
        """
        with self._lock:
            if revision in self._own:
                self._own[revision] = True  # usually this write itself, announced before it returned
                return
            if revision is not None and revision <= self._revision:
                return
            self._revision = self._revision + 1 if revision is None else revision
            self.settings_changes += 1

    def note_settings_change(self) -> None:
        """Count a change to settings or secrets in this process."""
        with self._lock:
            self.settings_changes += 1

    @contextmanager
    def reading(self) -> Iterator[Cursor]:
        """Open a transaction that reads."""
        with self._database.transaction() as cursor:
            cursor.execute("select onetool.begin_read(%s)", (self.workspace,))
            yield cursor

    @contextmanager
    def writing(self) -> Iterator[Cursor]:
        """Open a transaction that changes what the workspace contains. Other such transactions wait."""
        revision = None
        try:
            with self._database.transaction() as cursor:
                revision = self._begin_write(cursor, is_change=True)
                with self._lock:
                    self._own[revision] = False
                yield cursor
        except BaseException:
            if revision is not None and self._end_own(revision):
                self.note_change(revision)  # another process has used the number
            raise
        self._end_own(revision)
        with self._lock:
            self._revision = max(self._revision, revision)

    def _end_own(self, revision: int) -> bool:
        """Forget a revision of this process. Return whether it was announced.

        After a change that was undone, another thread may already have the same number.
        """
        with self._lock:
            return self._own.pop(revision, False)

    @contextmanager
    def recording(self) -> Iterator[Cursor]:
        """Open a transaction that writes what is not looked at before calls: results, sessions, jobs."""
        with self._database.transaction() as cursor:
            self._begin_write(cursor, is_change=False)
            yield cursor

    def _begin_write(self, cursor: Cursor, *, is_change: bool) -> int:
        cursor.execute("select onetool.begin_write(%s, %s)", (self.workspace, is_change))
        (revision,) = cast(tuple[int], cursor.fetchone())
        return revision


class _DatabaseStore(Protocol):
    _threads: Threads


S = TypeVar("S", bound=_DatabaseStore)
P = ParamSpec("P")
T = TypeVar("T")


def on_thread(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Make a blocking method of a store a coroutine that runs on the store's threads.

    Errors of the database become StoreUnavailable.
    """

    @wraps(method)
    async def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with store_errors():
            return await self._threads.run(partial(method, self, *args, **kwargs))

    return run


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn errors of the database into those of stores.

    Raises:
        WorkspaceReadOnly: The workspace is being moved.
        StoreUnavailable: The database cannot be reached, or a lock was held for too long.
    """
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable("The database has no free connection, or cannot be reached.") from error
    except psycopg.Error as error:
        if error.sqlstate == READ_ONLY:
            raise WorkspaceReadOnly("The workspace is read-only for a moment. Try again.") from error
        raise StoreUnavailable(f"The database failed: {type(error).__name__}.") from error


def _configure(connection: psycopg.Connection) -> None:
    connection.execute(SETTINGS.encode())
    connection.commit()
