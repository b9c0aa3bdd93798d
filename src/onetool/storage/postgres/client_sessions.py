"""Sessions of MCP clients in PostgreSQL."""

import time
from collections.abc import Callable, Hashable, Mapping

from onetool.ports.client_sessions import SESSION_ID, check_entry
from onetool.threads import Threads

from .database import on_thread
from .workspace_database import WorkspaceDatabase

READ = "select name, body from client_session_entries where workspace_id = %s and session_id = %s"
TOUCH = """
insert into client_sessions (workspace_id, id, written_at) values (%s, %s, %s)
on conflict (workspace_id, id) do update set written_at = excluded.written_at
"""
PUT = """
insert into client_session_entries (workspace_id, session_id, name, body) values (%s, %s, %s, %s)
on conflict (workspace_id, session_id, name) do update set body = excluded.body
"""
LOCK = "select from client_sessions where workspace_id = %s and id = %s for update"
"""Writers lock the session before its entries, so that no two wait for each other."""
REMOVE = "delete from client_session_entries where workspace_id = %s and session_id = %s and name = %s"
REAP = """
delete from client_sessions where workspace_id = %(workspace)s and id in (
    select id from client_sessions where workspace_id = %(workspace)s and written_at < %(before)s
    for update skip locked
)
"""


class PostgresClientSessions:
    """Stores a row for each session and one for each of its entries."""

    def __init__(
        self, workspace: WorkspaceDatabase, threads: Threads, now: Callable[[], float] = time.time
    ) -> None:
        self._workspace, self._threads, self._now = workspace, threads, now

    def generation(self, session: str) -> Hashable:
        """Return the number of the last write that is known here; those of other processes are announced."""
        return self._workspace.announcements.number("session", session)

    @on_thread
    def read(self, session: str) -> Mapping[str, str]:
        """Return the entries of a session by name."""
        if SESSION_ID.fullmatch(session) is None:
            return {}
        with self._workspace.reading() as cursor:
            rows = cursor.execute(READ, (self._workspace.workspace, session)).fetchall()
        return {name: body.decode("utf-8", "surrogatepass") for name, body in rows}

    @on_thread
    def put(self, session: str, name: str, text: str) -> None:
        """Create or replace an entry. Durable on return."""
        check_entry(session, name)
        body = text.encode("utf-8", "surrogatepass")
        with self._workspace.recording() as cursor:
            cursor.execute(TOUCH, (self._workspace.workspace, session, self._now()))
            cursor.execute(PUT, (self._workspace.workspace, session, name, body))
            self._workspace.announce(cursor, "session", session)
        self._workspace.announcements.note("session", session)

    @on_thread
    def remove(self, session: str, name: str) -> None:
        """Remove an entry."""
        check_entry(session, name)
        with self._workspace.recording() as cursor:
            cursor.execute(LOCK, (self._workspace.workspace, session))
            cursor.execute(REMOVE, (self._workspace.workspace, session, name))
            if cursor.rowcount == 0:
                return
            cursor.execute(TOUCH, (self._workspace.workspace, session, self._now()))
            self._workspace.announce(cursor, "session", session)
        self._workspace.announcements.note("session", session)

    @on_thread
    def reap(self, before: float) -> None:
        """Delete old sessions, except those that are being written."""
        with self._workspace.recording() as cursor:
            cursor.execute(REAP, {"workspace": self._workspace.workspace, "before": before})

    async def aclose(self) -> None:
        """Do nothing: connections belong to the process."""
