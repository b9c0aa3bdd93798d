"""Notices of changes in other processes: PostgreSQL announces the new revision of a workspace."""

import logging
import threading
from contextlib import suppress
from uuid import UUID
from weakref import WeakValueDictionary

import psycopg

from .database import SETTINGS, WorkspaceDatabase

log = logging.getLogger(__name__)

CHANNEL = "onetool"
RETRY_S = 2.0
"""Seconds until a lost connection is opened again."""
CHECK_S = 1.0
"""Seconds after which a thread that waits looks whether it must stop."""


class ChangeNotices:
    """Listens on one connection and raises the revisions of the open workspaces.

    While the connection is lost, notices are missed. So all workspaces count as changed when it is back.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._workspaces: WeakValueDictionary[UUID, WorkspaceDatabase] = WeakValueDictionary()
        self._is_stopped, self.is_listening = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="onetool-notices", daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()

    def add(self, workspace: WorkspaceDatabase) -> None:
        """Tell a workspace about changes, as long as it is in use."""
        self._workspaces[workspace.workspace] = workspace

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
                has_failed = False
            except psycopg.Error as error:
                if not has_failed:
                    log.warning("changes in other processes are not announced: %s", type(error).__name__)
                has_failed = True
            finally:
                self.is_listening.clear()
            self._is_stopped.wait(RETRY_S)

    def _listen(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(SETTINGS.encode())
            connection.execute(f"listen {CHANNEL}")
            for workspace in list(self._workspaces.values()):
                workspace.note_change(None)
            self.is_listening.set()
            while not self._is_stopped.is_set():
                for notice in connection.notifies(timeout=CHECK_S):
                    self._announce(notice.payload)

    def _announce(self, payload: str) -> None:
        with suppress(ValueError):  # not one of ours
            id, _, revision = payload.partition(" ")
            workspace = self._workspaces.get(UUID(id))
            if workspace is not None:
                workspace.note_change(int(revision))
