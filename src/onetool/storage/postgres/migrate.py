"""Migrations of the database: numbered SQL files, each applied once, in order, in its own transaction.

The queue of jobs has files of its own, which come with its package: see `queue_schema`.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import NamedTuple

import psycopg

from onetool.domain.errors import StoreUnavailable

from .database import connect
from .queue_schema import install_queue, missing_queue_files

LOCK = 7_306_086_840_021_119_000
"""Key of the advisory lock that lets one process migrate at a time."""
LOCK_TIMEOUT_MS = 60_000
ROLES = """
do $$ declare missing text; begin
    foreach missing in array array['onetool_owner', 'onetool_app', 'onetool_search', 'onetool_worker'] loop
        if not exists (select from pg_roles where rolname = missing) then
            begin
                execute format('create role %I nologin', missing);
            exception when duplicate_object or unique_violation then null;  -- a migration of another database
            end;
        end if;
    end loop;
    if not pg_has_role('onetool_owner', 'onetool_search', 'member') then
        begin
            grant onetool_search to onetool_owner;
        exception when unique_violation then null;
        end;
    end if;
    if not pg_has_role('onetool_worker', 'onetool_app', 'member') then
        begin
            grant onetool_app to onetool_worker;
        exception when unique_violation then null;
        end;
    end if;
    execute format('grant create on database %I to onetool_owner', current_database());
end $$
"""
"""Roles belong to the whole cluster, so they are no migration of one database."""
TABLE = """
create table if not exists public.onetool_migrations
    (number int primary key, name text not null, checksum text not null,
    applied_at timestamptz not null default now());
grant select on public.onetool_migrations to onetool_app
"""
NAME = re.compile(r"(\d{4})_\w+\.sql")


class Migration(NamedTuple):
    """One file of SQL."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """A value that changes with the SQL."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations() -> list[Migration]:
    """Return all migrations, in order."""
    found = [file for file in (files(__package__) / "migrations").iterdir() if NAME.fullmatch(file.name)]
    return sorted(Migration(int(file.name[:4]), file.name, file.read_text("utf-8")) for file in found)


def migrate(url: str, report: Callable[[str], None] = lambda line: None) -> list[str]:
    """Apply the migrations that a database lacks, as `onetool_owner`. Return their names.

    The role in the URL must be able to create roles the first time, and to become `onetool_owner`.

    Raises:
        StoreUnavailable: The database cannot be reached, or has other migrations than this version.
    """
    with connect(url, autocommit=True) as connection:
        connection.execute(f"set lock_timeout = {LOCK_TIMEOUT_MS}")
        connection.execute("select pg_advisory_lock(%s)", (LOCK,))
        connection.execute(ROLES)
        connection.execute(TABLE)
        missing = _missing(connection, migrations())
        for migration in missing:
            report(f"Applying {migration.name}")
            with connection.transaction():
                connection.execute("set local role onetool_owner")
                connection.execute(migration.sql.encode())
                connection.execute("reset role")
                connection.execute(
                    "insert into public.onetool_migrations (number, name, checksum) values (%s, %s, %s)",
                    (migration.number, migration.name, migration.checksum),
                )
        return [*(migration.name for migration in missing), *install_queue(connection, report)]


def check_migrated(url: str) -> None:
    """Check that a database has exactly the migrations of this version.

    Raises:
        StoreUnavailable: It lacks some, has others, or cannot be reached.
    """
    with connect(url) as connection:
        known = migrations()
        exists = connection.execute("select to_regclass('public.onetool_migrations')").fetchone()
        missing = [item.name for item in (_missing(connection, known) if exists and exists[0] else known)]
        missing = missing or missing_queue_files(connection)
    if missing:
        raise StoreUnavailable(f"The database lacks {missing[0]}. Run: onetool migrate")


def _missing(connection: psycopg.Connection, known: Sequence[Migration]) -> list[Migration]:
    """Return the migrations that were not applied yet.

    Raises:
        StoreUnavailable: The database has a migration that this version does not have, or another text of it.
    """
    rows = connection.execute("select number, name, checksum from public.onetool_migrations").fetchall()
    by_number = {migration.number: migration for migration in known}
    for number, name, checksum in rows:
        if number not in by_number:
            raise StoreUnavailable(
                f"The database has migration {name}, which this version of OneTool does not know. "
                "Use the version that wrote it, or a newer one."
            )
        if by_number[number].checksum != checksum:
            raise StoreUnavailable(f"Migration {name} of the database has another text than this version's.")
    applied = {row[0] for row in rows}
    return [migration for migration in known if migration.number not in applied]
