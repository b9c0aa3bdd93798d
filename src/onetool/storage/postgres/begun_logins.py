"""Logins of members to servers that have begun, in PostgreSQL, sealed."""

from hashlib import sha256

from onetool.ports import BegunServerLogin
from onetool.threads import Threads

from .database import on_thread
from .sealer import Sealer
from .texts import check_storable
from .workspace_database import WorkspaceDatabase

LIFETIME_MIN = 10
"""Minutes that a member has to log in."""
MAX_BEGUN = 10
"""Of one member, so that begun logins do not fill the table."""
PLACE = "begun login"
DELETE_OLD = f"""
delete from begun_logins where workspace_id = %(workspace)s and (expires_at < now() or id in (
    select id from begun_logins where workspace_id = %(workspace)s and principal = %(principal)s
    order by expires_at desc offset {MAX_BEGUN - 1}))
"""
PUT = f"""
insert into begun_logins (workspace_id, id, principal, owner, server, sealed, expires_at)
values (%s, %s, %s, %s, %s, %s, now() + interval '{LIFETIME_MIN} minutes')
"""
TAKE = """
delete from begun_logins where workspace_id = %s and id = %s and principal = %s and expires_at > now()
returning server, owner, sealed
"""


class PostgresBegunLogins:
    """Each login is found once, by the secret that the browser brings back, and only by who has begun it."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads, sealer: Sealer) -> None:
        self._workspace, self._threads, self._sealer = workspace, threads, sealer

    @on_thread
    def put(self, state: str, principal: str, login: BegunServerLogin) -> None:
        """Keep a login of a principal under a secret. The oldest ones are forgotten if there are many.

        Raises:
            ValueError: A name cannot be stored.
        """
        check_storable(login.server)
        workspace, id = self._workspace.workspace, _id(state)
        with self._workspace.recording() as cursor:
            cursor.execute(DELETE_OLD, {"workspace": workspace, "principal": principal})
            sealed = self._sealer.seal(cursor, login.begun, PLACE, id)
            cursor.execute(PUT, (workspace, id, principal, login.owner, login.server, sealed))

    @on_thread
    def take(self, state: str, principal: str) -> BegunServerLogin | None:
        """Return the login of a principal with this secret, once; None if there is none."""
        id = _id(state)
        with self._workspace.recording() as cursor:
            cursor.execute(TAKE, (self._workspace.workspace, id, principal))
            row = cursor.fetchone()
            if row is None:
                return None
            server, owner, sealed = row
            return BegunServerLogin(server, owner, self._sealer.open(cursor, sealed, PLACE, id))


def _id(state: str) -> str:
    return sha256(state.encode("utf-8", "replace")).hexdigest()
