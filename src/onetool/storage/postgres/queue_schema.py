"""The tables of the queue of jobs: the SQL files of procrastinate, in the schema `queue`.

The package has no program that applies them. A new database gets its complete schema; later versions of the
package add migrations, of which each one is applied once.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import psycopg

from onetool.domain.errors import SettingsError, StoreUnavailable

PACKAGE = "procrastinate"
TABLE = """
create table if not exists public.onetool_queue_migrations
    (name text primary key, applied_at timestamptz not null default now());
grant select on public.onetool_queue_migrations to onetool_app
"""
RECORD = "insert into public.onetool_queue_migrations (name) values (%s)"
GRANTS = """
grant usage on schema queue to onetool_app;
revoke execute on all functions in schema queue from public;
grant execute on all functions in schema queue to onetool_worker;
grant select, insert, update, delete on all tables in schema queue to onetool_worker;
grant usage on all sequences in schema queue to onetool_app;
grant insert on queue.procrastinate_jobs, queue.procrastinate_events to onetool_app;
grant select (id) on queue.procrastinate_jobs to onetool_app;
grant execute on function queue.procrastinate_defer_jobs_v1 to onetool_app
"""
"""The application adds jobs to the queue. What it contains is for workers."""


def install_queue(connection: psycopg.Connection, report: Callable[[str], None]) -> list[str]:
    """Create the queue, or apply the migrations that it lacks. Return their names.

    Raises:
        StoreUnavailable: The queue has migrations that the installed package does not have.
        SettingsError: The package is not installed.
    """
    connection.execute(TABLE)
    applied, files = _applied(connection), migration_files()
    missing = _missing(applied, files)
    if not applied:
        report("Creating the queue of jobs")
        _apply(connection, _sql_folder() / "schema.sql", missing)
        return ["the queue of jobs"]
    for name in missing:
        report(f"Applying {name} of the queue")
        _apply(connection, files[name], [name])
    return missing


def missing_queue_files(connection: psycopg.Connection) -> list[str]:
    """Return the migrations of the queue that were not applied yet.

    Raises:
        StoreUnavailable: The queue has migrations that the installed package does not have.
        SettingsError: The package is not installed.
    """
    exists = connection.execute("select to_regclass('public.onetool_queue_migrations')").fetchone()
    return _missing(_applied(connection) if exists and exists[0] else set(), migration_files())


def migration_files() -> dict[str, Path]:
    """Return the migrations of the installed package by name, in order."""
    return {file.stem: file for file in sorted((_sql_folder() / "migrations").glob("*.sql"))}


def _missing(applied: set[str], files: dict[str, Path]) -> list[str]:
    if unknown := applied - files.keys():
        raise StoreUnavailable(
            f"The queue has migration {min(unknown)}, which the installed {PACKAGE} does not know. "
            "Use the version that wrote it, or a newer one."
        )
    return [name for name in files if name not in applied]


def _applied(connection: psycopg.Connection) -> set[str]:
    rows = connection.execute("select name from public.onetool_queue_migrations").fetchall()
    return {name for (name,) in rows}


def _apply(connection: psycopg.Connection, file: Path, names: list[str]) -> None:
    """Apply a file, in whose SQL no name has a schema, and record what it contains."""
    with connection.transaction():
        connection.execute("set local role onetool_owner")
        connection.execute("set local search_path = queue")
        connection.execute(file.read_bytes())
        connection.execute(GRANTS)
        connection.execute("reset role")
        for name in names:
            connection.execute(RECORD, (name,))


def _sql_folder() -> Path:
    """Return where the package has its SQL. It is not imported, which takes longer than a migration."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SettingsError(f"{PACKAGE} is not installed. Run: pip install 'onetool-gateway[hosted]'")
    return Path(spec.origin).parent / "sql"
