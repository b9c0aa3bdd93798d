"""The tables of the queue of jobs: the SQL files of procrastinate, in the schema `queue`.

The package has no program that applies them. A new database gets its complete schema; later versions of the
package add migrations, of which each one is applied once. A file with `_pre_` in its name changes nothing
that the version of the package before it uses. One with `_post_` removes what only that version uses: it is
applied in the last step of an upgrade, or before a later file.
"""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import psycopg

from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.files.installation import extra_command

from .short_locks import with_short_locks

PACKAGE = "procrastinate"
PRE, POST = "_pre_", "_post_"
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


class QueueFile(NamedTuple):
    """A migration of the queue that was not applied yet."""

    name: str
    is_needed: bool
    """Whether the installed package cannot work without it."""

    @property
    def is_compatible(self) -> bool:
        """Whether the version of the package before it can work with it."""
        return is_compatible(self.name)


def install_queue(
    connection: psycopg.Connection, report: Callable[[str], None], *, is_last_step: bool = False
) -> list[str]:
    """Create the queue, or apply the migrations that it lacks. Return their names.

    is_last_step: also apply those that the installed package does not need.

    Raises:
        StoreUnavailable: The queue has migrations with which the installed package cannot work, or is in use
            for too long.
        SettingsError: The package is not installed.
    """
    connection.execute(TABLE)
    files, pending = migration_files(), pending_queue_files(connection)
    if not _applied(connection):
        report("Creating the queue of jobs")
        _apply(connection, _sql_folder() / "schema.sql", [item.name for item in pending], report)
        return ["the queue of jobs"]
    missing = [item.name for item in pending if item.is_needed or is_last_step]
    for name in missing:
        report(f"Applying {name} of the queue")
        _apply(connection, files[name], [name], report)
    return missing


def pending_queue_files(connection: psycopg.Connection) -> list[QueueFile]:
    """Return the migrations of the queue that were not applied yet, in order.

    Raises:
        StoreUnavailable: The queue has migrations with which the installed package cannot work.
        SettingsError: The package is not installed.
    """
    exists = connection.execute("select to_regclass('public.onetool_queue_migrations')").fetchone()
    applied, files = _applied(connection) if exists and exists[0] else set(), migration_files()
    unknown = sorted(name for name in applied - files.keys() if not is_compatible(name))
    if unknown:
        raise StoreUnavailable(
            f"The queue has migration {unknown[0]}, with which the installed {PACKAGE} cannot work. "
            "Use the version that wrote it, or a newer one."
        )
    missing = [name for name in files if name not in applied]
    last = max((number for number, name in enumerate(missing) if POST not in name), default=-1)
    return [QueueFile(name, is_needed=number <= last or not applied) for number, name in enumerate(missing)]


def is_compatible(name: str) -> bool:
    """Return whether the version of the package before a migration can work with it.

    >>> is_compatible("03.01.00_01_pre_add_heartbeat"), is_compatible("03.01.00_50_post_add_heartbeat")
    (True, False)
    """
    return PRE in name


def migration_files() -> dict[str, Path]:
    """Return the migrations of the installed package by name, in order."""
    return {file.stem: file for file in sorted((_sql_folder() / "migrations").glob("*.sql"))}


def _applied(connection: psycopg.Connection) -> set[str]:
    rows = connection.execute("select name from public.onetool_queue_migrations").fetchall()
    return {name for (name,) in rows}


def _apply(
    connection: psycopg.Connection, file: Path, names: list[str], report: Callable[[str], None]
) -> None:
    """Apply a file, in whose SQL no name has a schema, and record what it contains."""

    def change() -> None:
        connection.execute("set local role onetool_owner")
        connection.execute("set local search_path = queue")
        connection.execute(file.read_bytes())
        connection.execute(GRANTS)
        connection.execute("reset role")
        for name in names:
            connection.execute(RECORD, (name,))

    with_short_locks(connection, file.stem, change, report)


def _sql_folder() -> Path:
    """Return where the package has its SQL. It is not imported, which takes longer than a migration."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SettingsError(f"{PACKAGE} is not installed. Run: {extra_command('hosted')}")
    return Path(spec.origin).parent / "sql"
