"""Interrupted moves of workspaces: they become writable again in the cluster that the directory names."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

import psycopg

from onetool.domain.audit.entry import AuditAction
from onetool.domain.identity.interface import PROCESS
from onetool.domain.identity.principal import Principal, acting_as

from .audit import record
from .clusters import HOME, Clusters
from .database import CONNECTION, store_errors
from .moves import IS_IN_USE, LOCK, UNLOCK, end_move, wake_workers
from .timed_connection import TimedConnection

log = logging.getLogger(__name__)
STORED = "select onetool.read_only_workspaces()"
ENTRY = "select slug from home.workspaces where id = %s and cluster = %s and deleted_at is null"
BEGIN = "select onetool.begin_write(%s, null)"
READ = "select onetool.begin_read(%s)"
OTHER_ANSWER_S = 5.0
"""Seconds for each statement at a cluster that is only asked whether it has newer rows."""


class InterruptedMoves:
    """Ends interrupted moves, with the role of workers. Blocks.

    While a process moves a workspace, it holds a lock in the session that changes the directory. Once the
    lock is free, no process can change the entry any more, so the entry names the cluster of the valid rows,
    unless the home cluster has lost changes: then another cluster has rows in use, and the operator decides.
    So a workspace stays read-only while another cluster is away that may have such rows.
    """

    def __init__(self, urls: Mapping[str, str], clusters: Clusters) -> None:
        """urls: those of all clusters, by name, without a pooler."""
        self._urls, self._clusters = urls, clusters

    def end(self, cluster: str) -> list[str]:
        """Make read-only workspaces of a cluster writable if no process is moving them. Return their slugs.

        Raises:
            StoreUnavailable: The cluster, or the home cluster, has failed.
        """
        ended = []
        with store_errors(), self._connect(cluster) as rows:
            for (id,) in rows.execute(STORED).fetchall():
                with self._locked(id) as home:
                    found = home.execute(ENTRY, (id, cluster)).fetchone() if home else None
                    if home and found and self._end(home, rows, id, found[0], cluster):
                        ended.append(found[0])
        return ended

    def _end(self, home: TimedConnection, rows: TimedConnection, id: UUID, slug: str, cluster: str) -> bool:
        for name in self._urls:
            if name != cluster and (problem := self._newer_rows(id, name)):
                message = "workspace %s stays read-only: the directory names cluster %s, but %s"
                log.error(message, slug, cluster, problem)
                return False
        with acting_as(Principal(PROCESS)), rows.transaction(), rows.cursor() as cursor:
            if not end_move(cursor, id):
                return False
            cursor.execute(BEGIN, (id,))  # its jobs are visible now, and no process can fence it
            home.execute("select 1")  # fails if the connection was lost, and the lock with it
            record(cursor, id, AuditAction.WORKSPACE_MOVE, slug, {"to": cluster})
            wake_workers(cursor, id)
        return True

    def _newer_rows(self, id: UUID, cluster: str) -> str:
        """Return why a cluster may have newer rows of a workspace; nothing if it has none."""
        try:
            with self._connect(cluster) as connection, connection.transaction():
                connection.answer_s = OTHER_ANSWER_S
                connection.execute(READ, (id,))
                is_used = connection.execute(IS_IN_USE, (id,)).rowcount > 0
        except psycopg.Error as error:
            return f"{cluster} may have newer rows, and is away: {str(error).strip()}"
        return f"{cluster} has rows in use" if is_used else ""

    @contextmanager
    def _locked(self, id: UUID) -> Iterator[TimedConnection | None]:
        """Prevent processes from moving a workspace. Yield None if one is moving it."""
        with self._connect(HOME) as home:
            if home.execute(LOCK, (str(id),)).fetchone() != (True,):
                yield None
                return
            yield home
            home.execute(UNLOCK, (str(id),))

    @contextmanager
    def _connect(self, cluster: str) -> Iterator[TimedConnection]:
        url = psycopg.conninfo.make_conninfo(self._urls[cluster], **CONNECTION)
        with TimedConnection.connect(url, autocommit=True, prepare_threshold=None) as connection:
            self._clusters[cluster].check_primary(connection)  # others know nothing of a move in progress
            connection.execute("set role onetool_worker")
            yield connection
