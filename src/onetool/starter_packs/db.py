"""db: query SQLite files and PostgreSQL databases, read-only."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from typing import Any, BinaryIO, TypeVar

from onetool.sdk import (
    Context,
    allowed_path,
    extra_command,
    get_secret,
    open_allowed,
    open_allowed_directory,
    requires_lib,
    tool,
)

T = TypeVar("T")

pack = "db"

MAX_ROWS, MAX_CHARS, MAX_LENGTH = 1_000, 1_000_000, 10_000
MAX_VALUE_BYTES = 16 * 2**20
MAX_COPIED_BYTES = 256 * 2**20
HEADER_BYTES, VERSIONS, END_OF_VERSIONS = 100, 18, 20
"""The header of an SQLite file, and where it has its two format versions."""
WAL_VERSION, JOURNAL_VERSION = bytes([2, 2]), bytes([1, 1])
LOG_SUFFIXES = ("-wal", "-shm", "-journal")
MAGIC, SCHEMES = b"SQLite format 3\0", ("postgresql://", "postgres://")
PROGRESS_STEPS, FETCH_ROWS = 10_000, 50
"""SQLite instructions between deadline checks; rows per fetch from PostgreSQL."""
TIMEOUT_S, RESERVE_S = 5.0, 0.5
"""Limit for locks and connections, and time reserved before the deadline to return an error."""
PRAGMAS = frozenset(
    {
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "foreign_key_list",
        "data_version",
    }
)
DENIED_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer"})
INSTALL = f"{extra_command('postgres')} (for PostgreSQL; not needed for SQLite)"
READ_ONLY = "The database is read-only. Use a single SELECT, VALUES or WITH statement."
TOO_LONG = "The query timed out. Request fewer rows or add a WHERE clause."
TABLES = (
    "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' "
    "ORDER BY name",
    "SELECT table_schema || '.' || table_name AS name, CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' "
    "END AS type FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', "
    "'information_schema') ORDER BY 1",
)
COLUMNS = (
    'SELECT name, type, NOT "notnull" AND NOT pk AS nullable, dflt_value AS "default", pk > 0 AS key '
    "FROM pragma_table_xinfo(?) WHERE hidden <> 1",
    "SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, NOT a.attnotnull AS nullable, "
    'pg_get_expr(d.adbin, d.adrelid) AS "default", i.indrelid IS NOT NULL AS key FROM pg_attribute a '
    "LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum "
    "LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY(i.indkey) "
    "WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
)
"""The statements for SQLite and for PostgreSQL."""


@tool(timeout=20, parallel=True, tags=["sql", "database"])
@requires_lib("psycopg", install=INSTALL)
def query(
    *, sql: str, database: str, ctx: Context, params: list[Any] | None = None, max_rows: int = 100
) -> dict[str, Any]:
    """Query a database with SQL. The database is opened read-only.

    Args:
        sql: One read-only statement. Placeholders are ? in SQLite and $1, $2 in PostgreSQL.
        database: A SQLite file, or the name of a secret with a postgresql:// URL.
        params: Values for the placeholders, in order.
        max_rows: Maximum number of rows, up to 1000.

    Returns:
        columns, rows, and more (whether there are further rows).

    Example:
        db.query(sql="SELECT name, price FROM items WHERE price > ?", database="shop.db", params=[10])
    """

    def read(cursor: Any) -> dict[str, Any]:
        cursor.execute(sql, params or ())
        return _rows(cursor, max(1, min(max_rows, MAX_ROWS)))

    return _use(database, ctx, read)


@tool(timeout=20, parallel=True, tags=["sql", "database"])
@requires_lib("psycopg", install=INSTALL)
def tables(database: str, ctx: Context) -> list[dict[str, Any]]:
    """List the tables and views of a database.

    Args:
        database: A SQLite file, or the name of a secret with a postgresql:// URL.

    Returns:
        name and type (table or view) of each.

    Example:
        db.tables(database="shop.db")
    """
    statement = TABLES[_is_postgres(database)]
    return _use(database, ctx, lambda cursor: _as_dicts(_rows(cursor.execute(statement), MAX_ROWS)))


@tool(timeout=20, parallel=True, tags=["sql", "database"])
@requires_lib("psycopg", install=INSTALL)
def describe(table: str, database: str, ctx: Context) -> list[dict[str, Any]]:
    """List the columns of a table or view.

    Args:
        table: The name of the table; in PostgreSQL, schema.name is also possible.
        database: A SQLite file, or the name of a secret with a postgresql:// URL.

    Returns:
        name, type, nullable, default and key (part of the primary key) of each column.

    Example:
        db.describe(table="items", database="shop.db")
    """
    statement = COLUMNS[_is_postgres(database)]

    def read(cursor: Any) -> list[dict[str, Any]]:
        return _as_dicts(_rows(cursor.execute(statement, (table,)), MAX_ROWS))

    columns = _use(database, ctx, read)
    if not columns:
        raise ValueError(f"Table {table!r} not found. Use db.tables to list the tables.")
    return [column | {"nullable": bool(column["nullable"]), "key": bool(column["key"])} for column in columns]


def _is_postgres(database: str) -> bool:
    secret = get_secret(database)
    if secret is not None and not secret.startswith(SCHEMES):
        raise ValueError(f"The secret {database!r} does not hold a postgresql:// URL.")
    return secret is not None


def _use(database: str, ctx: Context, read: Callable[[Any], T]) -> T:
    """Open a database, and return what the function reads with the cursor."""
    if not _is_postgres(database):
        return _use_file(database, ctx, read)
    with _postgres(database, ctx) as cursor:
        return read(cursor)


def _rows(cursor: Any, max_rows: int) -> dict[str, Any]:
    rows: list[list[Any]] = []
    chars = 0
    for row in cursor:
        if len(rows) == max_rows or chars > MAX_CHARS:
            return {"columns": _columns(cursor), "rows": rows, "more": True}
        rows.append([_cell(value) for value in row])
        chars += sum(len(value) for value in rows[-1] if isinstance(value, str))
    return {"columns": _columns(cursor), "rows": rows, "more": False}


def _columns(cursor: Any) -> list[str]:
    return [column[0] for column in cursor.description or ()]


def _as_dicts(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(result["columns"], row, strict=True)) for row in result["rows"]]


def _cell(value: Any) -> Any:
    """Return a value that JSON can represent, truncated to a readable length."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes | memoryview):
        return f"<{len(value)} bytes>"
    text = str(value)
    return text if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]}... ({len(text)} characters)"


def _use_file(path: str, ctx: Context, read: Callable[[Any], T]) -> T:
    """Read an SQLite file that was opened without following links.

    SQLite opens files by their path, which another process can exchange with a link at that moment. So it
    runs on a thread that can open the checked files only. Where the kernel cannot restrict a thread, SQLite
    gets a copy in memory.
    """
    import sqlite3

    with open_allowed(path) as file, ExitStack() as stack:
        head = file.read(HEADER_BYTES)
        if not head.startswith(MAGIC) and head:
            raise ValueError(f"{path!r} is not a SQLite database.")
        real = allowed_path(path)
        directory = stack.enter_context(open_allowed_directory(str(real.parent)))
        logs = [_open_log(directory, f"{real.name}{suffix}", stack) for suffix in LOG_SUFFIXES]
        has_log = logs[0] is not None and os.fstat(logs[0]).st_size > 0
        if not _can_restrict_threads():
            content = _copy(path, file, has_log)

            def open_copy() -> Any:
                connection = sqlite3.connect(":memory:", isolation_level=None)
                if content:
                    connection.deserialize(content)
                return connection

            with _sqlite(open_copy, ctx) as cursor:
                return read(cursor)
        # without a log, no program has the database open, and SQLite would create one
        options = "&immutable=1" if head[VERSIONS:END_OF_VERSIONS] == WAL_VERSION and logs[0] is None else ""
        uri = f"{real.as_uri()}?mode=ro{options}"

        def open_file() -> Any:
            return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=TIMEOUT_S)

        def work() -> T:
            with _sqlite(open_file, ctx) as cursor:
                return read(cursor)

        return _run_restricted(work, file.fileno(), [log for log in logs if log is not None])


def _open_log(directory: Any, name: str, stack: ExitStack) -> int | None:
    """Open a file that SQLite has beside a database. Return None if there is none."""
    try:
        descriptor: int = directory.open_file(name, getattr(os, "O_PATH", os.O_RDONLY))
    except FileNotFoundError:
        return None
    stack.callback(os.close, descriptor)
    return descriptor


def _can_restrict_threads() -> bool:
    if sys.platform != "linux":
        return False
    from onetool.linux import landlock

    return landlock.version() > 0


def _run_restricted(work: Callable[[], T], database: int, logs: Sequence[int]) -> T:
    """Run a function on a thread of its own that can open these files only, and wait for its result."""
    from onetool.linux import landlock, privileges

    rules = [(f"/proc/self/fd/{database}", landlock.READ)]
    rules += [(f"/proc/self/fd/{log}", landlock.READ | landlock.WRITE) for log in logs]
    context, outcome = copy_context(), Future[T]()

    def run() -> None:
        try:
            privileges.deny_new_privileges()
            landlock.restrict_files(rules, network=False)
            outcome.set_result(context.run(work))
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome.result()


def _copy(path: str, file: BinaryIO, has_log: bool) -> bytes:
    """Return the content of a database file, as one without a write-ahead log."""
    if has_log:
        raise ValueError(
            f"{path!r} is in use: its newest changes are in a write-ahead log, which cannot be read on this "
            "system. Close the program that uses it."
        )
    file.seek(0)
    content = bytearray(file.read(MAX_COPIED_BYTES + 1))
    if len(content) > MAX_COPIED_BYTES:
        raise ValueError(f"{path!r} is larger than {MAX_COPIED_BYTES} bytes, the limit on this system.")
    if content[VERSIONS:END_OF_VERSIONS] == WAL_VERSION:
        content[VERSIONS:END_OF_VERSIONS] = JOURNAL_VERSION
    return bytes(content)


@contextmanager
def _sqlite(connect: Callable[[], Any], ctx: Context) -> Iterator[Any]:
    import sqlite3

    try:
        connection = connect()
    except sqlite3.Error as error:
        raise ValueError(f"SQLite error: {error}.") from None
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA temp_store = MEMORY")  # the thread cannot create files
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        connection.text_factory = lambda content: content.decode("utf-8", "replace")
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(lambda: ctx.cancelled or _remaining_s(ctx) < 0, PROGRESS_STEPS)
        yield connection.cursor()
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        message = str(error)
        if "interrupted" in message:
            raise TimeoutError(TOO_LONG) from None
        is_denied = "authoriz" in message or "prohibited" in message or "readonly" in message
        raise ValueError(READ_ONLY if is_denied else f"SQLite error: {message}.") from None
    finally:
        connection.close()


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Allow statements to read tables, call functions and inspect the schema, and nothing else."""
    import sqlite3

    is_allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
    is_allowed |= action == sqlite3.SQLITE_FUNCTION and str(second).lower() not in DENIED_FUNCTIONS
    is_allowed |= action == sqlite3.SQLITE_PRAGMA and str(first).lower() in PRAGMAS
    # SQLite reports an update of the schema when it declares a virtual table; mode=ro prevents real ones
    is_allowed |= action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


@contextmanager
def _postgres(name: str, ctx: Context) -> Iterator[Any]:
    try:
        import psycopg
    except ImportError:
        raise ModuleNotFoundError(
            f"PostgreSQL support requires psycopg. Install it with: {INSTALL}"
        ) from None
    with _connect(name) as connection:
        connection.read_only = True
        try:
            milliseconds = str(max(1, int(_remaining_s(ctx) * 1000)))
            connection.execute("SELECT set_config('statement_timeout', %s, false)", [milliseconds])
            with psycopg.RawServerCursor(connection, "onetool") as cursor:
                cursor.itersize = FETCH_ROWS
                yield cursor
        except psycopg.errors.QueryCanceled:
            raise TimeoutError(TOO_LONG) from None
        except psycopg.errors.ReadOnlySqlTransaction:
            raise ValueError(READ_ONLY) from None
        except psycopg.Error as error:
            hint = f" {READ_ONLY}" if isinstance(error, psycopg.errors.SyntaxError) else ""
            raise ValueError(f"PostgreSQL error: {error.diag.message_primary or error}.{hint}") from None


@contextmanager
def _connect(name: str) -> Iterator[Any]:
    """Connect to the database URL in a secret. Error messages do not include any part of the URL."""
    import psycopg

    try:
        connection = psycopg.connect(get_secret(name) or "", connect_timeout=int(TIMEOUT_S))
    except psycopg.Error as error:
        reason = (
            "the server rejected the login"
            if "FATAL" in str(error)
            else "the server does not respond, or the URL is invalid"
        )
        raise ConnectionError(f"Cannot connect to the database {name!r}: {reason}.") from None
    try:
        yield connection
    finally:
        connection.close()


def _remaining_s(ctx: Context) -> float:
    """Return the seconds left for a query."""
    return ctx.deadline - RESERVE_S - time.monotonic()
