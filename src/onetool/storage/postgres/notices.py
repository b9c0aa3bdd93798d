"""Changes made by other processes: PostgreSQL announces them, and processes poll every two seconds."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from uuid import UUID
from weakref import WeakValueDictionary

import psycopg

from .announcements import KINDS
from .clusters import Clusters
from .database import CONNECTION, SETTINGS, Database, check_url
from .directory import MOVED, Directory, Workspace
from .people import PEOPLE
from .replicas import APPLICATION, count_replicas
from .timed_connection import TimedConnection
from .workspace_database import Revisions, WorkspaceDatabase

log = logging.getLogger(__name__)

CHANNEL = "onetool"
POLL_S = 2.0
"""Seconds between two polls for changes."""
ANSWER_S = 10.0
"""Seconds after which a database that does not respond to a poll counts as away."""
RETRY_S = 0.5
"""Seconds until a lost connection is opened again."""
PARTS_OF_POLL = 8
"""How often, between two polls, the thread checks whether it must stop."""
POLLS_PER_COUNT = 5
"""Polls after which the replicas are counted again."""


class OpenRows:
    """The workspaces of all clusters that this process uses. Used by several threads."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._rows: WeakValueDictionary[UUID, WorkspaceDatabase] = WeakValueDictionary()

    def open(self, found: Workspace) -> WorkspaceDatabase:
        """Return the rows of a workspace: the same object as long as it is in use."""
        with self._lock:
            rows = self._rows.get(found.id)
            if rows is None:
                rows = self._rows[found.id] = self._directory.rows(found)
        self._directory.place(rows, found)
        return rows

    def get(self, id: UUID) -> WorkspaceDatabase | None:
        """Return the rows of a workspace, if they are in use."""
        return self._rows.get(id)

    def at(self, database: Database | None = None) -> dict[UUID, WorkspaceDatabase]:
        """Return the workspaces in a database, or all, by id."""
        with self._lock:
            rows = list(self._rows.values())
        return {each.workspace: each for each in rows if database in (None, each.database)}


class HomeChanges:
    """Notes changes to the directory, and to people, for workspaces that this process uses."""

    def __init__(self, rows: OpenRows, clusters: Clusters) -> None:
        self._rows, self._clusters = rows, clusters
        self._people: int | None = None

    def forget(self) -> None:
        """Forget the last number: changes may have been lost, and then their numbers are used again."""
        self._people = None

    def poll(self, connection: psycopg.Connection) -> None:
        """Read changes from the database."""
        entries = "select id, cluster, epoch from home.workspaces where id = any(%s)"
        for id, cluster, epoch in connection.execute(entries, (list(self._rows.at()),)).fetchall():
            self._note_entry(id, cluster, epoch)
        ((people,),) = connection.execute("select revision from home.people_revision").fetchall()
        self._note_people(people)

    def note(self, kind: str, words: list[str]) -> bool:
        """Note an announcement. Return False if it is about something else."""
        if kind == MOVED:
            id, cluster, epoch = words
            self._note_entry(UUID(id), cluster, int(epoch))
        elif kind == PEOPLE:
            (people,) = words
            self._note_people(int(people))
        return kind in (MOVED, PEOPLE)

    def _note_entry(self, id: UUID, cluster: str, epoch: int) -> None:
        if (rows := self._rows.get(id)) is not None:
            # without the URL of the cluster, keys are looked up again, and the directory raises
            is_known = cluster in self._clusters
            rows.move_to(self._clusters[cluster] if is_known else rows.database, epoch)

    def _note_people(self, revision: int) -> None:
        if self._people is None or revision > self._people:
            self._people = revision
            for rows in self._rows.at().values():
                rows.note_people_change()


class ChangeNotices:
    """Notes the changes to the workspaces of a cluster that this process uses.

    Has one thread and one connection.
    """

    def __init__(
        self,
        url: str,
        database: Database,
        *,
        rows: OpenRows | None = None,
        home_changes: HomeChanges | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare to listen.

        rows: the workspaces that this process uses. None: the database is the only cluster.
        home_changes: notes changes to the directory, if the database is the home cluster of several.
        """
        check_url(url)
        self._rows, self._home_changes = rows or OpenRows(Directory(database)), home_changes
        self._url = psycopg.conninfo.make_conninfo(url, application_name=APPLICATION, **CONNECTION)
        self._database, self._clock = database, clock
        self._is_stopped, self.is_listening = threading.Event(), threading.Event()
        self._seen_at, self._replicas = clock(), 1
        self._timeline = 0
        self._thread = threading.Thread(target=self._run, name="onetool-notices", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def workspace(self, found: Workspace) -> WorkspaceDatabase:
        """Return the rows of a workspace. Its changes are noted as long as it is in use.

        What is read after this is either current, or its change will be noted.
        """
        return self._rows.open(found)

    def age_s(self) -> float:
        """Return the seconds since the last poll that succeeded: a few, unless the database is away."""
        return self._clock() - self._seen_at

    def replicas(self) -> int:
        """Return the number of processes that listen, as last counted; at least 1."""
        return self._replicas

    def stop(self) -> None:
        """Stop listening. Waits for the thread."""
        self._is_stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        has_failed = False
        while not self._is_stopped.is_set():
            try:
                self._listen()
            except Exception as error:  # noqa: BLE001 - root of a thread, without which no request is served
                if not has_failed:
                    log.warning("changes in other processes are not announced: %s", type(error).__name__)
                has_failed = not self.is_listening.is_set()
            finally:
                self.is_listening.clear()
            if has_failed:
                self._is_stopped.wait(RETRY_S)
                self._poll_by_pool()

    def _poll_by_pool(self) -> None:
        """Poll on a pooled connection, because none to listen on can be opened: maybe there are too many."""
        with suppress(Exception):  # it is tried again
            self._database.try_connection(self._poll, POLL_S, ANSWER_S)

    def _listen(self) -> None:
        with TimedConnection.connect(self._url, autocommit=True, prepare_threshold=None) as connection:
            connection.answer_s = ANSWER_S
            self._database.check_primary(connection)  # before anything is announced
            connection.execute(SETTINGS.encode())
            connection.execute(f"listen {CHANNEL}")
            self._database.note_return()
            self._note_missed()
            for number in count():
                if self._database.is_away:  # because its pooler is away
                    self._poll_by_pool()
                else:
                    self._poll(connection)
                if number % POLLS_PER_COUNT == 0:
                    self._count_replicas(connection)
                self.is_listening.set()
                for _ in range(PARTS_OF_POLL):
                    for notice in connection.notifies(timeout=POLL_S / PARTS_OF_POLL):
                        self._announce(notice.payload)
                    if self._is_stopped.is_set():
                        return

    def _poll(self, connection: psycopg.Connection) -> None:
        asked_at = self._clock()
        self._database.check_primary(connection)
        self._note_promotion()
        if self._home_changes is not None:
            self._home_changes.poll(connection)
        workspaces = self._rows.at(self._database)
        rows = connection.execute("select * from onetool.revisions(%s)", (list(workspaces),)).fetchall()
        for id, *revisions in rows:
            workspaces[id].note(Revisions(*revisions))
        self._seen_at = asked_at

    def _count_replicas(self, connection: psycopg.Connection) -> None:
        self._replicas = max(1, count_replicas(connection))

    def _note_promotion(self) -> None:
        before, self._timeline = self._timeline, self._database.timeline
        if before not in (0, self._timeline):
            for workspace in self._rows.at(self._database).values():
                workspace.note_lost_changes()
            if self._home_changes is not None:
                self._home_changes.forget()

    def _note_missed(self) -> None:
        for workspace in self._rows.at(self._database).values():
            workspace.announcements.note_missed()

    def _announce(self, payload: str) -> None:
        with suppress(ValueError, TypeError):  # not an announcement of OneTool
            first, *rest = payload.split(" ")
            if self._home_changes is not None and self._home_changes.note(first, rest):
                return
            if first in KINDS:
                id, subject = rest
                if (workspace := self._here(UUID(id))) is not None:
                    workspace.announcements.note(first, subject)
            elif (workspace := self._here(UUID(first))) is not None:
                workspace.note(Revisions(*map(int, rest)))

    def _here(self, id: UUID) -> WorkspaceDatabase | None:
        """Return the rows of a workspace, if they are in use and in this cluster."""
        rows = self._rows.get(id)
        return rows if rows is not None and rows.database is self._database else None
