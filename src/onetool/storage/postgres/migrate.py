"""Migrations of the database: numbered SQL files, each applied once, in order, in its own transaction.

A file whose first line is `-- compatible from 0016` changes nothing that a server with migration 0016 uses:
such servers run before, during and after it. Without this line, servers must have the migration themselves.

The queue of jobs has files of its own, which come with its package: see `queue_schema`.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from typing import NamedTuple

import psycopg

from onetool.domain.errors import StoreUnavailable

from .database import connect
from .queue_schema import install_queue, pending_queue_files
from .replicas import count_replicas
from .short_locks import with_short_locks

LOCK = 7_306_086_840_021_119_000
"""Key of the advisory lock that lets one process migrate at a time."""
LOCK_TIMEOUT_MS = 60_000
STATEMENT_S = 86_400.0
"""Seconds for one statement: a migration may rewrite a large table."""
ROLES = """
do $$ declare
    missing text;
    member text;
    granted text;
    -- from PostgreSQL 16 on, a member may lack the right to become the role
    version int := current_setting('server_version_num');
    needed text := case when version < 160000 then 'member' else 'set' end;
begin
    foreach missing in array array['onetool_owner', 'onetool_app', 'onetool_search', 'onetool_worker'] loop
        if not exists (select from pg_roles where rolname = missing) then
            begin
                execute format('create role %I nologin', missing);
            exception when duplicate_object or unique_violation then null;  -- a migration of another database
            end;
        end if;
    end loop;
    for member, granted in values ('onetool_owner', 'onetool_search'), ('onetool_owner', 'onetool_app'),
        ('onetool_worker', 'onetool_app'), (current_user, 'onetool_owner')
    loop
        if not pg_has_role(member::name, granted, needed) then
            begin
                execute format('grant %I to %I', granted, member);
            exception when unique_violation then null;
            end;
        end if;
    end loop;
    execute format('grant create on database %I to onetool_owner', current_database());
end $$
"""
"""Roles belong to the whole cluster, so they are no migration of one database."""
TABLE = """
create table if not exists public.onetool_migrations
    (number int primary key, name text not null, checksum text not null,
    applied_at timestamptz not null default now());
alter table public.onetool_migrations add column if not exists compatible_from int;
grant select on public.onetool_migrations to onetool_app
"""
NAME = re.compile(r"(\d{4})_\w+\.sql")
COMPATIBLE = re.compile(r"-- compatible from (\d{4})\n")
APPLIED = """
select number, name, checksum, (to_jsonb(applied) ->> 'compatible_from')::int
from public.onetool_migrations applied order by number
"""
"""Earlier versions have created the table without the last column."""
RECORD = """
insert into public.onetool_migrations (number, name, checksum, compatible_from) values (%s, %s, %s, %s)
"""


class Migration(NamedTuple):
    """One file of SQL."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """A value that changes with the SQL."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def compatible_from(self) -> int:
        """The last migration that a server must have to use the database after this one."""
        found = COMPATIBLE.match(self.sql)
        return int(found[1]) if found else self.number


class PendingMigration(NamedTuple):
    """A migration that a database lacks."""

    name: str
    is_compatible: bool
    """Whether servers that use the database as it is can run meanwhile and afterwards."""


def migrations() -> list[Migration]:
    """Return all migrations, in order."""
    found = [file for file in (files(__package__) / "migrations").iterdir() if NAME.fullmatch(file.name)]
    return sorted(Migration(int(file.name[:4]), file.name, file.read_text("utf-8")) for file in found)


def migrate(
    url: str, report: Callable[[str], None] = lambda line: None, *, is_last_step: bool = False
) -> list[str]:
    """Apply the migrations that a database lacks, as `onetool_owner`. Return their names.

    The role in the URL must be able to create roles the first time, and later a member of `onetool_owner`.

    is_last_step: no server of an earlier version runs any more. Remove what only those use.

    Raises:
        StoreUnavailable: The database cannot be reached, has migrations with which this version cannot work,
            a table is in use for too long, or servers run that must be stopped first.
    """
    with connect(url, autocommit=True, answer_s=STATEMENT_S) as connection:
        connection.execute(f"set lock_timeout = {LOCK_TIMEOUT_MS}")
        connection.execute("select pg_advisory_lock(%s)", (LOCK,))
        connection.execute(ROLES)
        connection.execute(TABLE)
        missing = _missing(connection, migrations())
        _check_replicas(connection)
        for migration in missing:
            report(f"Applying {migration.name}")
            with_short_locks(connection, migration.name, partial(_apply, connection, migration), report)
        applied = [migration.name for migration in missing]
        return applied + install_queue(connection, report, is_last_step=is_last_step)


def check_migrated(url: str) -> None:
    """Check that this version can work with a database.

    Raises:
        StoreUnavailable: It lacks migrations, has ones with which this version cannot work, or cannot be
            reached.
    """
    with connect(url) as connection:
        missing = [item.name for item in _pending(connection)]
        missing = missing or [item.name for item in pending_queue_files(connection) if item.is_needed]
    if missing:
        raise StoreUnavailable(f"The database lacks {missing[0]}. Run: onetool migrate")


def pending_migrations(url: str) -> list[PendingMigration]:
    """Return what `migrate` would apply, in order.

    Raises:
        StoreUnavailable: As for `check_migrated`, except that the database may lack migrations.
    """
    with connect(url) as connection:
        return _list_pending(connection)


def _list_pending(connection: psycopg.Connection) -> list[PendingMigration]:
    missing = _pending(connection)
    lowest = min((item.number for item in missing), default=0)
    newest = max((item.number for item in migrations() if item.number < lowest), default=0)
    queue = [item for item in pending_queue_files(connection) if item.is_needed]
    return [
        *(PendingMigration(item.name, item.compatible_from <= newest) for item in missing),
        *(PendingMigration(item.name, item.is_compatible) for item in queue),
    ]


def _check_replicas(connection: psycopg.Connection) -> None:
    """Check that no server or worker runs that cannot work with a migration.

    Raises:
        StoreUnavailable: One does.
    """
    changes = [item.name for item in _list_pending(connection) if not item.is_compatible]
    if changes and (count := count_replicas(connection)):
        raise StoreUnavailable(
            f"Servers and workers use the database ({count}), and {changes[0]} changes what they need. "
            "Stop all of them, then migrate."
        )


def _apply(connection: psycopg.Connection, migration: Migration) -> None:
    connection.execute("set local role onetool_owner")
    connection.execute(migration.sql.encode())
    connection.execute("reset role")
    connection.execute(
        RECORD, (migration.number, migration.name, migration.checksum, migration.compatible_from)
    )


def _pending(connection: psycopg.Connection) -> list[Migration]:
    known = migrations()
    exists = connection.execute("select to_regclass('public.onetool_migrations')").fetchone()
    return _missing(connection, known) if exists and exists[0] else known


def _missing(connection: psycopg.Connection, known: Sequence[Migration]) -> list[Migration]:
    """Return the migrations that were not applied yet.

    Raises:
        StoreUnavailable: The database has another text of a migration, or one that this version does not have
            and with which it cannot work.
    """
    rows = connection.execute(APPLIED).fetchall()
    by_number = {migration.number: migration for migration in known}
    newest = max(by_number)
    for number, name, checksum, compatible_from in rows:
        if number in by_number:
            if by_number[number].checksum != checksum:
                raise StoreUnavailable(
                    f"Migration {name} of the database has another text than this version's."
                )
        elif (compatible_from or number) > newest:
            raise StoreUnavailable(
                f"The database has migration {name}, with which this version of OneTool cannot work: "
                f"its last one is {newest:04}, and {compatible_from or number:04} is needed. "
                "Use the version that wrote it, or a newer one."
            )
    applied = {row[0] for row in rows}
    return [migration for migration in known if migration.number not in applied]
