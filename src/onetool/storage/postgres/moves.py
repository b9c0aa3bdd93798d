"""Moves of workspaces between clusters: their rows are copied while the workspace is read-only.

The directory is changed after the copy, in one commit. A move that is interrupted before this commit leaves
the workspace read-only at the source; after it, read-only at the target. A worker then makes it writable
there, see `interrupted_moves`. So does a move to the cluster that the directory names. Repeating the move
completes it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple
from uuid import UUID

import psycopg
from psycopg import Connection

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import SettingsError, StoreUnavailable, WorkspaceUnavailable
from onetool.ports.chats import LEASE_S as CHAT_LEASE_S

from .audit import record
from .clusters import HOME, identity, not_configured
from .database import Cursor, connect
from .directory import announce_entry
from .jobs import LEASE_S as JOB_LEASE_S
from .timed_connection import TimedConnection
from .tokens import LEASE_S as TOKEN_LEASE_S
from .wake_ups import wake_worker
from .workspace_copies import copy_rows, delete_rows

WAIT_MS, ATTEMPTS = 2_000, 30
"""How long one attempt to set the fence waits for writers, who then wait for it; number of attempts."""
REVISIONS = 1_000
"""Added to the revision: more than changes of people at the source can have added during the move."""
KEEP_HOURS = 24
"""Hours after a move for which the rows at the source stay."""
STATEMENT_S = 600
ANSWER_S = STATEMENT_S + 5.0
"""Seconds for one statement. A cluster that hangs for longer ends the move, which is then undone."""
BRIEF_ANSWER_S = 15.0
"""Seconds for statements that others wait for, or that are not needed to complete a move."""
SETTINGS = f"""
set role onetool_owner;
set lock_timeout = '10s';
set statement_timeout = '{STATEMENT_S}s';
set timezone = 'UTC';
set datestyle = 'ISO, YMD';
set intervalstyle = 'postgres';
set bytea_output = 'hex';
set extra_float_digits = 1;
set tcp_keepalives_idle = 10;
set tcp_keepalives_interval = 5;
set tcp_keepalives_count = 3
"""
"""They give equal values the same text at both clusters, and soon end locks of a machine that has failed."""
SCHEMA = "select array_agg(name || ' ' || checksum order by number) from public.onetool_migrations"
FIND = "select id, cluster from home.workspaces where slug = %s and deleted_at is null"
CLUSTERS = "select name from home.clusters order by name"
LOCK = "select pg_try_advisory_lock(hashtextextended(%s, 1))"
"""Lock a workspace, in the home cluster: only one process moves it at a time."""
UNLOCK = "select pg_advisory_unlock(hashtextextended(%s, 1))"
LOCK_WRITERS = "select pg_advisory_xact_lock(hashtextextended(%s, 0))"
"""Every writer holds the same lock as a shared one, see `begin_write`."""
HOLD_WRITERS = "select pg_advisory_lock(hashtextextended(%s, 0))"
"""The same, until the session releases it or ends."""
RELEASE_WRITERS = "select pg_advisory_unlock(hashtextextended(%s, 0))"
LOCK_ENTRY = "select from home.workspaces where id = %s for no key update"
"""Changes of limits lock an entry before they wait for the lock of writers, so a move does the same."""
FENCE = "update onetool.workspace_state set fenced = true where workspace_id = %s"
ENTRY = """
update home.workspaces set cluster = %s, epoch = epoch + 1, moved_at = now() where id = %s returning epoch
"""
END_MOVE = "select onetool.end_move(%s, %s, %s, %s, %s)"
LEASES_S = (float(JOB_LEASE_S), float(CHAT_LEASE_S), float(TOKEN_LEASE_S))
"""Seconds by which a move extends leases, because they could not be renewed while it ran."""
QUEUED = "select id from onetool.jobs where workspace_id = %s and status = 'queued' order by created_at"
STORED = "select workspace_id from onetool.workspace_state where fenced"
"""What a move leaves behind is read-only. Other rows are in use, whatever the directory says."""
IS_IN_USE = "select from onetool.workspace_state where workspace_id = %s and not fenced"
ELSEWHERE = """
select id, slug from home.workspaces where id = any(%s) and cluster <> %s
    and (moved_at is null or moved_at <= now() - make_interval(secs => 3600 * %s)) order by slug
"""
"""Workspaces whose rows in a cluster are not used: a move, or an interrupted move, has left them there."""
Report = Callable[[str], None]
"""Called with a line about each step."""


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

    def __init__(
        self, urls: Mapping[str, str], report: Report = lambda line: None, *, ignore_away: bool = False
    ) -> None:
        """urls: those of all clusters, by name. ignore_away: clusters that are away have no newer rows."""
        self._urls, self._report, self._ignore_away = urls, report, ignore_away

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
            id, _ = _find(home, slug)
            with _locked(home, id, slug):
                _, source = _find(home, slug)
                moved = MovedWorkspace(slug, source, target)
                with self._connect(target) as to:
                    if source == target:
                        self._check_elsewhere(home, to, id, moved)
                        self._make_writable(to, id, moved)
                        return moved
                    with self._connect(source) as rows:
                        return self._move(home, rows, to, id, moved)

    def _move(
        self,
        home: TimedConnection,
        source: TimedConnection,
        target: TimedConnection,
        id: UUID,
        moved: MovedWorkspace,
    ) -> MovedWorkspace:
        _check_clusters(source, target, moved)
        self._check_elsewhere(home, source, id, moved)
        if target.execute(IS_IN_USE, (id,)).rowcount:
            raise _in_use_elsewhere(moved, moved.target)
        began = _fence(source, id, moved.slug)
        is_decided = False
        try:
            self._tell("The workspace is read-only.")
            with target.transaction(), source.transaction():
                source.execute("set transaction isolation level repeatable read, read only")
                moved = moved._replace(rows=copy_rows(source, target, id))
            self._tell(f"Rows copied and compared: {moved.rows:,}.")
            home.answer_s = BRIEF_ANSWER_S
            with home.transaction():
                home.execute(LOCK_ENTRY, (id,))
                _lock_copied(source, id, moved.slug)
                ((epoch,),) = home.execute(ENTRY, (moved.target, id)).fetchall()
                announce_entry(home, id, moved.target, epoch)
                is_decided = True  # even if the response to the commit is lost
            self._tell(f"The directory names cluster {moved.target}.")
            self._make_writable(target, id, moved)
        except BaseException as error:
            if not is_decided:
                self._undo(home, id, moved, error)
            elif isinstance(error, (psycopg.Error, StoreUnavailable)):
                raise _left_read_only(moved.slug, error) from error
            raise
        moved = moved._replace(read_only_s=time.monotonic() - began)
        _release_writers(source, id)
        return moved

    def _check_elsewhere(self, home: Connection, rows: Connection, id: UUID, moved: MovedWorkspace) -> None:
        """Check that no other cluster has newer rows, if those that the directory names are read-only.

        A move was interrupted, or the directory is from before a move.

        Raises:
            SettingsError: Another cluster is not configured.
            StoreUnavailable: It has rows in use, or is away.
        """
        if rows.execute(IS_IN_USE, (id,)).rowcount:
            return
        for (name,) in home.execute(CLUSTERS).fetchall():
            if name != moved.source and self._is_used(id, name, moved.slug):
                raise _in_use_elsewhere(moved, name)

    def _is_used(self, id: UUID, cluster: str, slug: str) -> bool:
        try:
            with self._connect(cluster, BRIEF_ANSWER_S) as rows:
                return rows.execute(IS_IN_USE, (id,)).rowcount > 0
        except WorkspaceUnavailable as error:
            if self._ignore_away:
                return False
            message = f"Cluster {cluster!r} is away, and may have newer rows of {slug!r}."
            raise StoreUnavailable(f"{message} If it has none, use --ignore-away.\n{error}") from error

    def _undo(self, home: Connection, id: UUID, moved: MovedWorkspace, error: BaseException) -> None:
        """Make a workspace writable where it was.

        Raises:
            StoreUnavailable: Another process may be moving it meanwhile, or the source is away.
        """
        try:
            home.execute("select 1")  # fails if the connection was lost, and the lock with it
            with self._connect(moved.source) as source:
                self._make_writable(source, id, moved._replace(target=moved.source))
        except (psycopg.Error, StoreUnavailable):
            raise _left_read_only(moved.slug, error) from error

    def _make_writable(self, target: Connection, id: UUID, moved: MovedWorkspace) -> None:
        """Lift the fence, extend leases, and wake workers for queued jobs; do nothing without a fence."""
        with target.transaction(), target.cursor() as cursor:
            if not end_move(cursor, id):
                if not target.execute(IS_IN_USE, (id,)).rowcount:
                    raise StoreUnavailable(f"Cluster {moved.target!r} has no rows of {moved.slug!r}.")
                self._tell("The workspace is writable.")
                return
            detail = {"from": moved.source, "to": moved.target}
            record(target, id, AuditAction.WORKSPACE_MOVE, moved.slug, detail)
            jobs = wake_workers(cursor, id)
        self._tell(f"The workspace is writable. Queued jobs: {jobs:,}.")

    def _tell(self, line: str) -> None:
        with suppress(OSError):  # the output is closed: the move is completed nevertheless
            self._report(line)

    def clean_up(self, *, keep_hours: float = KEEP_HOURS) -> list[tuple[str, str]]:
        """Delete read-only rows of workspaces that are at another cluster. Return slugs and clusters.

        keep_hours: hours after a move for which they stay.

        Raises:
            StoreUnavailable: A database cannot be reached.
        """
        done = []
        with self._connect(HOME) as home:
            clusters = home.execute(CLUSTERS).fetchall()
            for (cluster,) in clusters:
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
    def _connect(self, cluster: str, answer_s: float | None = None) -> Iterator[TimedConnection]:
        """Open a connection. answer_s: seconds for one statement; None: as many as a copy may take."""
        if cluster not in self._urls:
            raise SettingsError(not_configured(cluster))
        with connect(self._urls[cluster], autocommit=True, answer_s=answer_s or ANSWER_S) as connection:
            connection.execute(SETTINGS.encode())
            yield connection


def _find(home: Connection, slug: str) -> tuple[UUID, str]:
    """Return the id of a workspace and its cluster.

    Raises:
        SettingsError: There is none.
    """
    found = home.execute(FIND, (slug,)).fetchone()
    if found is None:
        raise SettingsError(f"There is no workspace {slug!r}.")
    return found


@contextmanager
def _locked(home: Connection, id: UUID, slug: str) -> Iterator[None]:
    """Prevent other processes from moving a workspace.

    Raises:
        StoreUnavailable: Another process is moving it.
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
    if identity(source) == identity(target):
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
                if not source.execute(FENCE, (id,)).rowcount:
                    raise StoreUnavailable(f"The cluster of workspace {slug!r} does not have its rows.")
            return time.monotonic()
        except psycopg.errors.LockNotAvailable:
            continue
    raise StoreUnavailable(f"Workspace {slug!r} is being written without a pause. Try again.")


def _lock_copied(source: Connection, id: UUID, slug: str) -> None:
    """Check that a workspace has been read-only all the time, and let it stay so.

    Raises:
        StoreUnavailable: Another process has made it writable, so rows may be newer than their copy.
    """
    source.execute(HOLD_WRITERS, (str(id),))
    if source.execute(IS_IN_USE, (id,)).rowcount:
        raise StoreUnavailable(f"Another process has made workspace {slug!r} writable during the copy.")


def _release_writers(source: TimedConnection, id: UUID) -> None:
    source.answer_s = BRIEF_ANSWER_S
    with suppress(psycopg.Error):  # if the source is away, the lock ends with the connection
        source.execute(RELEASE_WRITERS, (str(id),))


def _in_use_elsewhere(moved: MovedWorkspace, cluster: str) -> StoreUnavailable:
    message = f"Cluster {cluster!r} has rows of workspace {moved.slug!r} that are not read-only."
    return StoreUnavailable(f"{message} They may be newer than those in {moved.source!r}.")


def _left_read_only(slug: str, error: BaseException) -> StoreUnavailable:
    message = f"Workspace {slug!r} is read-only until a worker ends the move, or it is repeated."
    return StoreUnavailable(f"{error}\n{message}")


def end_move(cursor: Cursor, id: UUID) -> bool:
    """Make a workspace writable, and announce that all may have changed. Return False if it was writable."""
    ((has_ended,),) = cursor.execute(END_MOVE, (id, REVISIONS, *LEASES_S)).fetchall()
    return bool(has_ended)


def wake_workers(cursor: Cursor, id: UUID) -> int:
    """Wake workers for the queued jobs of a workspace: a move does not copy wake-ups. Return their number."""
    jobs = cursor.execute(QUEUED, (id,)).fetchall()
    for (job,) in jobs:
        wake_worker(cursor, id, job)
    return len(jobs)


def _delete_elsewhere(home: Connection, connection: Connection, id: UUID, slug: str, cluster: str) -> bool:
    """Delete the rows of a workspace in a cluster, unless they are in use or the workspace is being moved."""
    try:
        with _locked(home, id, slug):
            if not home.execute(ELSEWHERE, ([id], cluster, 0)).rowcount:
                return False
            if connection.execute(IS_IN_USE, (id,)).rowcount:
                return False
            with connection.transaction():
                delete_rows(connection, id)
            return True
    except StoreUnavailable:
        return False
