"""db: ask SQLite files and PostgreSQL databases; nothing is ever written."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from onetool.sdk import Context, allowed_path, get_secret, open_allowed, requires_lib, tool

pack = "db"

MOST_ROWS, MOST_CHARS, LONGEST = 1_000, 1_000_000, 10_000
LARGEST_VALUE = 16 * 2**20
MAGIC, SCHEMES = b"SQLite format 3\0", ("postgresql://", "postgres://")
STEPS, AT_ONCE = 10_000, 50
"""Steps of SQLite between looks at the clock; rows that PostgreSQL sends at once."""
PATIENCE, RESERVE = 5.0, 0.5
"""Seconds to wait for a lock or a connection; and before the end of the call, so that it can be said."""
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
CLOSED = frozenset({"load_extension", "fts3_tokenizer"})
INSTALL = 'pip install "onetool[postgres]" (for PostgreSQL; SQLite works without)'
READ_ONLY = "Nothing is written, attached or set here: ask with one SELECT, VALUES or WITH."
TOO_LONG = "The query did not end in time; ask for less, or narrow it with WHERE."
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
"""What SQLite is asked, and what PostgreSQL."""


@tool(timeout=20, parallel=True, tags=["sql", "database"])
@requires_lib("psycopg", install=INSTALL)
def query(
    *, sql: str, database: str, ctx: Context, params: list[Any] | None = None, max_rows: int = 100
) -> dict[str, Any]:
    """Ask a database with SQL; it is opened for reading only.

    Args:
        sql: One statement that reads. Values stand as ? in SQLite and as $1, $2 in PostgreSQL.
        database: A SQLite file, or the name of a secret that holds a postgresql:// URL.
        params: The values, in their order.
        max_rows: How many rows at most, up to 1000.

    Returns:
        columns, rows, and more: whether there are rows that are not shown.

    Example:
        db.query(sql="SELECT name, price FROM items WHERE price > ?", database="shop.db", params=[10])
    """
    with _opened(database, ctx) as cursor:
        cursor.execute(sql, params or ())
        return _rows(cursor, max(1, min(max_rows, MOST_ROWS)))


@tool(timeout=20, parallel=True, tags=["sql", "database"])
@requires_lib("psycopg", install=INSTALL)
def tables(database: str, ctx: Context) -> list[dict[str, Any]]:
    """List the tables and views of a database.

    Args:
        database: A SQLite file, or the name of a secret that holds a postgresql:// URL.

    Returns:
        name and type (table or view) of each.

    Example:
        db.tables(database="shop.db")
    """
    with _opened(database, ctx) as cursor:
        cursor.execute(TABLES[_is_postgres(database)])
        return _maps(_rows(cursor, MOST_ROWS))


@tool(timeout=20, parallel=True, tags=["sql", "database"])
@requires_lib("psycopg", install=INSTALL)
def describe(table: str, database: str, ctx: Context) -> list[dict[str, Any]]:
    """List the columns of a table or view.

    Args:
        table: Its name; in PostgreSQL also schema.name.
        database: A SQLite file, or the name of a secret that holds a postgresql:// URL.

    Returns:
        name, type, nullable, default and key (whether it is part of the primary key) of each column.

    Example:
        db.describe(table="items", database="shop.db")
    """
    with _opened(database, ctx) as cursor:
        cursor.execute(COLUMNS[_is_postgres(database)], (table,))
        columns = _maps(_rows(cursor, MOST_ROWS))
    if not columns:
        raise ValueError(f"There is no table {table!r}; db.tables shows which there are.")
    return [one | {"nullable": bool(one["nullable"]), "key": bool(one["key"])} for one in columns]


def _is_postgres(database: str) -> bool:
    secret = get_secret(database)
    if secret is not None and not secret.startswith(SCHEMES):
        raise ValueError(f"The secret {database!r} does not hold a postgresql:// URL.")
    return secret is not None


def _opened(database: str, ctx: Context) -> AbstractContextManager[Any]:
    return _postgres(database, ctx) if _is_postgres(database) else _sqlite(database, ctx)


def _rows(cursor: Any, most: int) -> dict[str, Any]:
    rows: list[list[Any]] = []
    chars = 0
    for row in cursor:
        if len(rows) == most or chars > MOST_CHARS:
            return {"columns": _columns(cursor), "rows": rows, "more": True}
        rows.append([_cell(value) for value in row])
        chars += sum(len(value) for value in rows[-1] if isinstance(value, str))
    return {"columns": _columns(cursor), "rows": rows, "more": False}


def _columns(cursor: Any) -> list[str]:
    return [column[0] for column in cursor.description or ()]


def _maps(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]


def _cell(value: Any) -> Any:
    """A value as JSON has it, and no longer than anybody reads."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes | memoryview):
        return f"<{len(value)} bytes>"
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


@contextmanager
def _sqlite(path: str, ctx: Context) -> Iterator[Any]:
    import sqlite3

    with open_allowed(path) as file:
        if file.read(len(MAGIC)) not in (MAGIC, b""):
            raise ValueError(f"{path!r} is not a SQLite database.")
    connection = sqlite3.connect(
        f"{allowed_path(path).as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=PATIENCE
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        connection.text_factory = lambda content: content.decode("utf-8", "replace")
        connection.set_authorizer(_judge)
        connection.set_progress_handler(lambda: ctx.cancelled or _left(ctx) < 0, STEPS)
        yield connection.cursor()
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        said = str(error)
        if "interrupted" in said:
            raise TimeoutError(TOO_LONG) from None
        refused = "authoriz" in said or "prohibited" in said or "readonly" in said
        raise ValueError(READ_ONLY if refused else f"SQLite says: {said}.") from None
    finally:
        connection.close()


def _judge(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """What a statement may do: read tables, call functions, look at the schema; nothing else."""
    import sqlite3

    is_fine = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
    is_fine |= action == sqlite3.SQLITE_FUNCTION and str(second).lower() not in CLOSED
    is_fine |= action == sqlite3.SQLITE_PRAGMA and str(first).lower() in PRAGMAS
    # to describe a virtual table to itself, SQLite acts as if it wrote to a schema; mode=ro forbids it to
    is_fine |= action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"
    return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY


@contextmanager
def _postgres(name: str, ctx: Context) -> Iterator[Any]:
    try:
        import psycopg
    except ImportError:
        raise ModuleNotFoundError(f"PostgreSQL is asked with psycopg: {INSTALL}") from None
    with _connected(name) as connection:
        connection.read_only = True
        try:
            milliseconds = str(max(1, int(_left(ctx) * 1000)))
            connection.execute("SELECT set_config('statement_timeout', %s, false)", [milliseconds])
            with psycopg.RawServerCursor(connection, "asked") as cursor:
                cursor.itersize = AT_ONCE
                yield cursor
        except psycopg.errors.QueryCanceled:
            raise TimeoutError(TOO_LONG) from None
        except psycopg.errors.ReadOnlySqlTransaction:
            raise ValueError(READ_ONLY) from None
        except psycopg.Error as error:
            hint = f" {READ_ONLY}" if isinstance(error, psycopg.errors.SyntaxError) else ""
            raise ValueError(f"PostgreSQL says: {error.diag.message_primary or error}.{hint}") from None


@contextmanager
def _connected(name: str) -> Iterator[Any]:
    """A connection to the database of a secret, of which no message repeats a word."""
    import psycopg

    try:
        connection = psycopg.connect(get_secret(name) or "", connect_timeout=int(PATIENCE))
    except psycopg.Error as error:
        why = (
            "the server refuses the login"
            if "FATAL" in str(error)
            else "nobody answers there, or the URL is wrong"
        )
        raise ConnectionError(f"The database of {name!r} cannot be reached: {why}.") from None
    try:
        yield connection
    finally:
        connection.close()


def _left(ctx: Context) -> float:
    """Seconds that a query may still take."""
    return ctx.deadline - RESERVE - time.monotonic()
