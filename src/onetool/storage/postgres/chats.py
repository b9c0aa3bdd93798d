"""Reservations of sessions, and what is always approved in them, in PostgreSQL."""

from collections.abc import Set as AbstractSet
from secrets import token_hex

from onetool.domain.chat.transcript import check_session_name
from onetool.domain.identity.principal import current_principal
from onetool.ports.chats import LEASE_S
from onetool.threads import Threads

from .database import Cursor, on_thread
from .texts import check_storable
from .workspace_database import WorkspaceDatabase

TAKE = """
insert into chat_leases (workspace_id, owner, session_id, replica, lease_until)
values (%(workspace)s, %(owner)s, %(session)s, %(replica)s,
    clock_timestamp() + make_interval(secs => %(seconds)s))
on conflict (workspace_id, owner, session_id) do update
set replica = excluded.replica, lease_until = excluded.lease_until
where chat_leases.replica = excluded.replica or chat_leases.lease_until <= clock_timestamp()
"""
RENEW = """
update chat_leases set lease_until = clock_timestamp() + make_interval(secs => %(seconds)s)
where workspace_id = %(workspace)s and owner = %(owner)s and session_id = %(session)s
    and replica = %(replica)s and lease_until > clock_timestamp()
"""
RELEASE = """
delete from chat_leases where workspace_id = %(workspace)s and owner = %(owner)s and session_id = %(session)s
    and replica = %(replica)s
"""
IS_TAKEN = """
select from chat_leases where workspace_id = %(workspace)s and owner = %(owner)s and session_id = %(session)s
    and lease_until > clock_timestamp()
"""
LOCK = """
select replica from chat_leases where workspace_id = %s and owner = %s and session_id = %s for share
"""
"""While it is locked, no other process can reserve the session."""
APPROVE = """
insert into chat_approvals (workspace_id, owner, session_id, tool)
select workspace_id, owner, id, %(tool)s from sessions
where workspace_id = %(workspace)s and owner = %(owner)s and id = %(session)s for key share
on conflict do nothing
"""
APPROVED = """
select tool from chat_approvals
where workspace_id = %(workspace)s and owner = %(owner)s and session_id = %(session)s
"""
DISCARD = """
delete from chat_approvals
where workspace_id = %(workspace)s and owner = %(owner)s and session_id = %(session)s
"""


def new_replica() -> str:
    """Return a name for this process."""
    return token_hex(16)


def current_owner() -> str:
    """Return the principal to whom sessions belong.

    Raises:
        ValueError: The database cannot store its name.
    """
    return check_storable(current_principal().id)


def is_lost(cursor: Cursor, workspace: WorkspaceDatabase, session: str, replica: str) -> bool:
    """Return whether another process has reserved a session. None can do so until the transaction ends."""
    row = cursor.execute(LOCK, (workspace.workspace, current_owner(), session)).fetchone()
    return row is not None and row[0] != replica


class PostgresSessionLeases:
    """Stores a row for each reserved session. The clock of the database counts."""

    def __init__(
        self, workspace: WorkspaceDatabase, threads: Threads, replica: str, lease_s: float = LEASE_S
    ) -> None:
        self._workspace, self._threads, self._replica, self.lease_s = workspace, threads, replica, lease_s

    @on_thread
    def take(self, session: str) -> bool:
        """Reserve a session that no other process has, or had too long ago."""
        return self._change(TAKE, session)

    @on_thread
    def renew(self, session: str) -> bool:
        """Extend the reservation, unless it has ended."""
        return self._change(RENEW, session)

    @on_thread
    def release(self, session: str) -> None:
        """End the reservation of this process."""
        self._change(RELEASE, session)

    @on_thread
    def is_taken(self, session: str) -> bool:
        """Return whether a process has reserved a session."""
        with self._workspace.reading() as cursor:
            return cursor.execute(IS_TAKEN, self._values(session)).rowcount == 1

    async def aclose(self) -> None:
        """Do nothing: connections belong to the process."""

    def _change(self, statement: str, session: str) -> bool:
        values = self._values(session)
        with self._workspace.recording() as cursor:
            return cursor.execute(statement.encode(), values).rowcount == 1

    def _values(self, session: str) -> dict[str, object]:
        return {
            "workspace": self._workspace.workspace,
            "owner": current_owner(),
            "session": check_session_name(session),
            "replica": self._replica,
            "seconds": self.lease_s,
        }


class PostgresSessionApprovals:
    """Stores a row for each tool, which is deleted with its session."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads

    @on_thread
    def add(self, session: str, tool: str) -> None:
        """Approve all calls of a tool in a session that exists."""
        values = self._values(session) | {"tool": check_storable(tool)}
        with self._workspace.recording() as cursor:
            cursor.execute(APPROVE, values)

    @on_thread
    def tools(self, session: str) -> AbstractSet[str]:
        """Return the tools that are always approved in a session."""
        with self._workspace.reading() as cursor:
            rows = cursor.execute(APPROVED, self._values(session)).fetchall()
        return frozenset(tool for (tool,) in rows)

    @on_thread
    def discard(self, session: str) -> None:
        """Forget the tools that are always approved in a session."""
        with self._workspace.recording() as cursor:
            cursor.execute(DISCARD, self._values(session))

    async def aclose(self) -> None:
        """Do nothing: connections belong to the process."""

    def _values(self, session: str) -> dict[str, object]:
        session = check_session_name(session)
        return {"workspace": self._workspace.workspace, "owner": current_owner(), "session": session}
