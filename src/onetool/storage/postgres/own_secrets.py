"""Secrets of the members of a workspace in PostgreSQL, sealed."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import QuotaExceeded
from onetool.domain.secrets.secret import Secret
from onetool.threads import Threads

from .audit import record
from .database import Cursor, on_thread
from .sealer import Sealer, reads_sealed
from .texts import is_storable
from .workspace_database import WorkspaceDatabase

MAX_SECRETS = 100
"""Of one member."""
MAX_CACHED = 1_000
"""Members whose secrets are in memory."""
PLACE = "own secret"
PUT = """
insert into own_secrets (workspace_id, owner, name, sealed, hosts) values (%s, %s, %s, %s, %s)
on conflict (workspace_id, owner, name) do update
set sealed = excluded.sealed, hosts = excluded.hosts, changed_at = now()
"""
COUNT = "select count(*) from own_secrets where workspace_id = %s and owner = %s and name <> %s"


class PostgresOwnSecrets:
    """The secrets of each member. Those of recent callers stay in memory until one of them changes."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads, sealer: Sealer) -> None:
        self._workspace, self._threads, self._sealer = workspace, threads, sealer
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def of(self, owner: str) -> Mapping[str, Secret]:
        """Return the secrets of a member by name."""
        known, changes = self._known.get(owner), self._workspace.keys_changes
        if known is None or known.changes != changes:
            known = self._known[owner] = _Known(await self._read(owner), changes)
            if len(self._known) > MAX_CACHED:
                self._known.popitem(last=False)
        return known.secrets

    @on_thread
    def put(self, owner: str, name: str, value: str, hosts: Sequence[str]) -> None:
        """Create or replace a secret of a member. It is announced like a revoked key."""
        workspace = self._workspace.workspace
        with self._workspace.writing("keys") as cursor:
            ((count,),) = cursor.execute(COUNT, (workspace, owner, name)).fetchall()
            if count >= MAX_SECRETS:
                raise QuotaExceeded(
                    f"{name!r} was not stored: you have {count} secrets, and the limit is {MAX_SECRETS}."
                    " Delete others first."
                )
            sealed = self._sealer.seal(cursor, value, PLACE, owner, name)
            cursor.execute(PUT, (workspace, owner, name, sealed, list(hosts)))
            record(
                cursor, workspace, AuditAction.OWN_SECRET_PUT, name, {"owner": owner, "hosts": list(hosts)}
            )

    @on_thread
    def delete(self, owner: str, name: str) -> bool:
        """Delete a secret of a member."""
        if not is_storable(name):
            return False
        with self._workspace.writing("keys") as cursor:
            cursor.execute(
                "delete from own_secrets where workspace_id = %s and owner = %s and name = %s",
                (self._workspace.workspace, owner, name),
            )
            if not cursor.rowcount:
                return False
            record(cursor, self._workspace.workspace, AuditAction.OWN_SECRET_DELETE, name, {"owner": owner})
            return True

    @on_thread
    def _read(self, owner: str) -> Mapping[str, Secret]:
        with self._workspace.reading() as cursor:
            return self._read_rows(cursor, owner)

    @reads_sealed
    def _read_rows(self, cursor: Cursor, owner: str) -> Mapping[str, Secret]:
        cursor.execute(
            "select name, sealed, hosts from own_secrets where workspace_id = %s and owner = %s"
            " order by name",
            (self._workspace.workspace, owner),
        )
        return {
            name: Secret(
                name=name, value=self._sealer.open(cursor, sealed, PLACE, owner, name), hosts=tuple(hosts)
            )
            for name, sealed, hosts in cursor.fetchall()
        }


class _Known(NamedTuple):
    """The secrets of a member in memory."""

    secrets: Mapping[str, Secret]
    changes: int
    """`keys_changes` of the workspace, from before they were read."""
