"""Changes in other processes: PostgreSQL announces them, and is also asked for them every two seconds."""

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
from .database import SETTINGS, Database, Revisions, WorkspaceDatabase, check_url
from .directory import Workspace

log = logging.getLogger(__name__)

CHANNEL = "onetool"
POLL_S = 2.0
"""Seconds between two questions for changes, and until a lost connection is opened again."""
PARTS_OF_POLL = 8
"""How often, between two polls, the thread looks whether it must stop."""
POLLS_PER_COUNT = 5
"""Polls after which the replicas are counted again."""
APPLICATION = "onetool-replica"
CONNECTION = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}
"""Seconds, attempts and milliseconds after which a connection counts as lost that only waits."""
COUNT_REPLICAS = """
select count(*) from pg_stat_activity where application_name = %s and datname = current_database()
"""
"""Every role sees these columns of all connections."""


class ChangeNotices:
    """Notes the changes to the workspaces that are in use here. Has one thread and one connection."""

    def __init__(self, url: str, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        check_url(url)
        self._url = psycopg.conninfo.make_conninfo(url, application_name=APPLICATION, **CONNECTION)
        self._database, self._clock = database, clock
        self._workspaces: WeakValueDictionary[UUID, WorkspaceDatabase] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._is_stopped, self.is_listening = threading.Event(), threading.Event()
        self._seen_at, self._replicas = clock(), 1
        self._thread = threading.Thread(target=self._run, name="onetool-notices", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def workspace(self, found: Workspace) -> WorkspaceDatabase:
        """Return the rows of a workspace. Its changes are noted as long as it is in use.

        What is read after this is either current, or its change will be noted.
        """
        with self._lock:
            workspace = self._workspaces.get(found.id)
            if workspace is None:
                workspace = WorkspaceDatabase(self._database, found.id, found.revisions)
                self._workspaces[found.id] = workspace
            return workspace

    def age_s(self) -> float:
        """Return the seconds since all changes were known: a few, unless the database is away."""
        return self._clock() - self._seen_at

    def replicas(self) -> int:
        """Return the number of processes that listen, as last counted; at least 1."""
        return self._replicas

    def stop(self) -> None:
        """Stop to listen. Waits for the thread."""
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
                self._is_stopped.wait(POLL_S)
                self._poll_by_pool()

    def _poll_by_pool(self) -> None:
        """Ask for changes although there is no connection to listen on: perhaps there are too many."""
        with suppress(Exception):  # it is tried again
            self._database.try_connection(self._poll, POLL_S)

    def _listen(self) -> None:
        with psycopg.connect(self._url, autocommit=True, prepare_threshold=None) as connection:
            connection.execute(SETTINGS.encode())
            connection.execute(f"listen {CHANNEL}")
            self._database.note_return()
            self._note_missed()
            for number in count():
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
        with self._lock:
            workspaces = {workspace.workspace: workspace for workspace in self._workspaces.values()}
        asked_at = self._clock()
        rows = connection.execute("select * from onetool.revisions(%s)", (list(workspaces),)).fetchall()
        for id, *revisions in rows:
            workspaces[id].note(Revisions(*revisions))
        self._seen_at = asked_at

    def _count_replicas(self, connection: psycopg.Connection) -> None:
        row = connection.execute(COUNT_REPLICAS, (APPLICATION,)).fetchone()
        self._replicas = max(1, row[0] if row else 1)

    def _note_missed(self) -> None:
        with self._lock:
            workspaces = list(self._workspaces.values())
        for workspace in workspaces:
            workspace.announcements.note_missed()

    def _announce(self, payload: str) -> None:
        with suppress(ValueError, TypeError):  # not one of ours
            first, *rest = payload.split(" ")
            if first in KINDS:
                id, subject = rest
                if (workspace := self._workspaces.get(UUID(id))) is not None:
                    workspace.announcements.note(first, subject)
            elif (workspace := self._workspaces.get(UUID(first))) is not None:
                workspace.note(Revisions(*map(int, rest)))
