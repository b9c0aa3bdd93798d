"""Moves of workspaces between clusters: their rows are copied while the workspace is read-only.

The directory is changed after the copy, in one commit. A move that was interrupted before this leaves the
workspace where it was, read-only; one that was interrupted after it, at the target. The next one completes
it, or a move to the cluster that the directory names makes the workspace writable again.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

import psycopg
from psycopg import Connection

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.ports.chats import LEASE_S as CHAT_LEASE_S

from .audit import record
from .clusters import HOME, not_configured
from .database import connect
from .directory import announce_entry
from .jobs import LEASE_S as JOB_LEASE_S
from .tokens import LEASE_S as TOKEN_LEASE_S
from .wake_ups import wake_worker
from .workspace_copies import copy_rows, delete_rows

WAIT_MS, ATTEMPTS = 2_000, 30
"""How long the fence waits for the writers of a workspace, who then wait for it, and how often it tries."""
REVISIONS = 1_000
"""How much the revision rises: by more than changes of people at the source can have raised it meanwhile."""
KEEP_HOURS = 24
"""Hours after a move for which the rows at the source stay."""
STATEMENT_TIMEOUT_MIN = 60
SETTINGS = f"""
set role onetool_owner;
set lock_timeout = '10s';
set statement_timeout = '{STATEMENT_TIMEOUT_MIN}min';
set timezone = 'UTC';
set datestyle = 'ISO, YMD';
set intervalstyle = 'postgres';
set bytea_output = 'hex';
set extra_float_digits = 1
"""
"""At both clusters, the same values have the same text."""
SCHEMA = "select array_agg(name || ' ' || checksum order by number) from public.onetool_migrations"
IDENTITY = """
select pg_postmaster_start_time()::text, oid from pg_database where datname = current_database()
"""
FIND = "select id, cluster, epoch from home.workspaces where slug = %s and deleted_at is null"
LOCK = "select pg_try_advisory_lock(hashtextextended(%s, 1))"
"""Of a workspace, in the home cluster: one process moves it at a time."""
UNLOCK = "select pg_advisory_unlock(hashtextextended(%s, 1))"
LOCK_WRITERS = "select pg_advisory_xact_lock(hashtextextended(%s, 0))"
"""All of them hold the shared lock, see `begin_write`."""
FENCE = "update onetool.workspace_state set fenced = true where workspace_id = %s"
ENTRY = """
update home.workspaces set cluster = %s, epoch = epoch + 1, moved_at = now() where id = %s returning epoch
"""
LIFT = """
update onetool.workspace_state set fenced = false, revision = revision + %(more)s,
    settings_revision = revision + %(more)s, keys_revision = revision + %(more)s
where workspace_id = %(id)s and fenced returning revision
"""
LEASES = (
    ("job_owners", "lease_until", JOB_LEASE_S, "ended_at is null"),
    ("chat_leases", "lease_until", CHAT_LEASE_S, "true"),
    ("token_leases", "expires_at", TOKEN_LEASE_S, "true"),
)
"""Tables with leases that could not be renewed: their column, their seconds, and the rows in question."""
QUEUED = "select id from onetool.jobs where workspace_id = %s and status = 'queued' order by created_at"
STORED = "select workspace_id from onetool.workspace_state"
ELSEWHERE = """
select id, slug from home.workspaces where id = any(%s) and cluster <> %s
    and (moved_at is null or moved_at <= now() - make_interval(secs => 3600 * %s)) order by slug
"""
"""Workspaces whose rows in a cluster are not used: from before a move, or from one that was interrupted."""
Report = Callable[[str], None]
"""Is given a line about each step."""


class MovedWorkspace(NamedTuple):
    """What a move did."""

    slug: str
    source: str
    target: str
    rows: int = 0
    """How many were copied."""
    read_only_s: float = 0.0


class WorkspaceMoves:
    """Moves workspaces, with the owner's role. Blocks."""

    def __init__(self, urls: Mapping[str, str], report: Report = lambda line: None) -> None:
        """urls: those of all clusters, by name."""
        self._urls, self._report = urls, report

    def move(self, slug: str, target: str) -> MovedWorkspace:
        """Move a workspace, or complete a move that was interrupted.

        If the workspace is at the target, it is only made writable again.

        Raises:
            SettingsError: There is no such workspace or cluster.
            StoreUnavailable: A database cannot be reached, the clusters have different tables, or writers or
                another move did not end in time. The workspace stays where it was.
        """
        with self._connect(HOME) as home:
            if home.execute("select from home.clusters where name = %s", (target,)).fetchone() is None:
                raise SettingsError(f"Cluster {target!r} is not part of the installation.")
            found = home.execute(FIND, (slug,)).fetchone()
            if found is None:
                raise SettingsError(f"There is no workspace {slug!r}.")
            with _locked(home, found[0], slug):
                ((id, source, _),) = home.execute(FIND, (slug,)).fetchall()
                moved = MovedWorkspace(slug, source, target)
                with self._connect(target) as to:
                    if source == target:
                        self._make_writable(to, id, moved)
                        return moved
                    with self._connect(source) as rows:
                        return self._move(home, rows, to, id, moved)

    def _move(
        self, home: Connection, source: Connection, target: Connection, id: UUID, moved: MovedWorkspace
    ) -> MovedWorkspace:
        _check_clusters(source, target, moved)
        began = _fence(source, id, moved.slug)
        self._report("The workspace is read-only.")
        try:
            with target.transaction(), source.transaction():
                source.execute("set transaction isolation level repeatable read, read only")
                moved = moved._replace(rows=copy_rows(source, target, id))
        except BaseException:
            with source.transaction():
                _lift(source, id)
            self._report("The workspace is writable again, where it was.")
            raise
        self._report(f"Rows copied and compared: {moved.rows:,}.")
        with home.transaction():
            ((epoch,),) = home.execute(ENTRY, (moved.target, id)).fetchall()
            announce_entry(home, id, moved.target, epoch)
        self._report(f"The directory names cluster {moved.target}.")
        self._make_writable(target, id, moved)
        return moved._replace(read_only_s=time.monotonic() - began)

    def _make_writable(self, target: Connection, id: UUID, moved: MovedWorkspace) -> None:
        """Lift the fence, extend leases, and wake workers for queued jobs; do nothing without a fence."""
        with target.transaction(), target.cursor() as cursor:
            if not _lift(target, id):
                self._report("The workspace is writable.")
                return
            for table, column, seconds, which in LEASES:
                extend = f"""
                    update onetool.{table}
                    set {column} = greatest({column}, clock_timestamp() + make_interval(secs => %s))
                    where workspace_id = %s and {which}
                """
                target.execute(extend.encode(), (seconds, id))
            detail = {"from": moved.source, "to": moved.target}
            record(target, id, AuditAction.WORKSPACE_MOVE, moved.slug, detail)
            jobs = target.execute(QUEUED, (id,)).fetchall()
            for (job,) in jobs:
                wake_worker(cursor, id, job)
        self._report(f"The workspace is writable. Queued jobs: {len(jobs):,}.")

    def clean_up(self, *, keep_hours: float = KEEP_HOURS) -> list[tuple[str, str]]:
        """Delete rows of workspaces that are at another cluster. Return slugs and clusters.

        keep_hours: hours after a move for which they stay.

        Raises:
            StoreUnavailable: A database cannot be reached.
        """
        done = []
        with self._connect(HOME) as home:
            for cluster in self._urls:
                with self._connect(cluster) as connection:
                    ids = [id for (id,) in connection.execute(STORED).fetchall()]
                    elsewhere = home.execute(ELSEWHERE, (ids, cluster, keep_hours)).fetchall()
                    done += [
                        (slug, cluster)
                        for id, slug in elsewhere
                        if _delete_elsewhere(home, connection, id, slug, cluster)
                    ]
        return done

    @contextmanager
    def _connect(self, cluster: str) -> Iterator[Connection]:
        if cluster not in self._urls:
            raise SettingsError(not_configured(cluster))
        with connect(self._urls[cluster], autocommit=True) as connection:
            connection.execute(SETTINGS.encode())
            yield connection


@contextmanager
def _locked(home: Connection, id: UUID, slug: str) -> Iterator[None]:
    """Let no other process move a workspace.

    Raises:
        StoreUnavailable: Another one does.
    """
    if home.execute(LOCK, (str(id),)).fetchone() != (True,):
        raise StoreUnavailable(f"Another process is moving workspace {slug!r}. Try again when it has ended.")
    try:
        yield
    finally:
        if not home.broken and not home.closed:
            home.execute(UNLOCK, (str(id),))


def _check_clusters(source: Connection, target: Connection, moved: MovedWorkspace) -> None:
    """Check that rows can be copied.

    Raises:
        SettingsError: Both clusters are the same database.
        StoreUnavailable: They have different tables.
    """
    if source.execute(IDENTITY).fetchone() == target.execute(IDENTITY).fetchone():
        raise SettingsError(f"Clusters {moved.source!r} and {moved.target!r} are the same database.")
    schemas = []
    for connection in (source, target):
        with connection.transaction():
            connection.execute("set local role none")
            schemas.append(connection.execute(SCHEMA).fetchone())
    if schemas[0] != schemas[1]:
        message = f"Clusters {moved.source!r} and {moved.target!r} have different tables."
        raise StoreUnavailable(f"{message} Run: onetool migrate")


def _fence(source: Connection, id: UUID, slug: str) -> float:
    """Make a workspace read-only once its writers have ended. Return when that was."""
    for _ in range(ATTEMPTS):
        try:
            with source.transaction():
                source.execute(f"set local lock_timeout = {WAIT_MS}".encode())
                source.execute(LOCK_WRITERS, (str(id),))
                source.execute(FENCE, (id,))
            return time.monotonic()
        except psycopg.errors.LockNotAvailable:
            continue
    raise StoreUnavailable(f"Workspace {slug!r} is being written without a pause. Try again.")


def _lift(connection: Connection, id: UUID) -> bool:
    """Make a workspace writable, and announce that all of it may have changed. Return False if it was."""
    row = connection.execute(LIFT, {"id": id, "more": REVISIONS}).fetchone()
    if row is None:
        return False
    connection.execute("select pg_notify('onetool', %s)", (f"{id} {row[0]} {row[0]} {row[0]}",))
    return True


def _delete_elsewhere(home: Connection, connection: Connection, id: UUID, slug: str, cluster: str) -> bool:
    """Delete the rows of a workspace in a cluster, unless it is there, or being moved."""
    try:
        with _locked(home, id, slug):
            if not home.execute(ELSEWHERE, ([id], cluster, 0)).rowcount:
                return False
            with connection.transaction():
                delete_rows(connection, id)
            return True
    except StoreUnavailable:
        return False
