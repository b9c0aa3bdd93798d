"""Secrets of a workspace in PostgreSQL, sealed."""

from collections.abc import Mapping, Sequence

from onetool.domain.audit.entry import AuditAction
from onetool.domain.errors import QuotaExceeded
from onetool.domain.secrets.secret import Secret
from onetool.threads import Threads

from .audit import record
from .database import Cursor, on_thread, store_errors
from .limits import read_limits
from .sealer import Sealer, reads_sealed
from .workspace_database import WorkspaceDatabase


class PostgresSecrets:
    """The secrets of one workspace, by name."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads, sealer: Sealer) -> None:
        self._workspace, self._threads, self._sealer = workspace, threads, sealer

    def read(self) -> Mapping[str, Secret]:
        """Return all secrets. Blocks.

        Raises:
            StoreUnavailable: The database has failed.
        """
        with store_errors(), self._workspace.reading() as cursor:
            return self._read(cursor)

    @on_thread
    def hosts(self) -> Mapping[str, Sequence[str] | None]:
        """Return the hosts to which each secret may be sent, by its name. Opens no secret."""
        with self._workspace.reading() as cursor:
            rows = cursor.execute(
                "select name, hosts from secrets where workspace_id = %s order by name",
                (self._workspace.workspace,),
            ).fetchall()
        return dict(rows)

    @on_thread
    def put(self, name: str, value: str, hosts: Sequence[str] | None = None) -> None:
        """Create or replace a secret.

        hosts: where it may be sent; None: to any host.

        Raises:
            QuotaExceeded: The workspace has as many secrets as it may have.
        """
        with self._workspace.writing("settings") as cursor:
            self._check_quota(cursor, name)
            cursor.execute(
                "insert into secrets (workspace_id, name, sealed, hosts) values (%s, %s, %s, %s)"
                " on conflict (workspace_id, name) do update"
                " set sealed = excluded.sealed, hosts = excluded.hosts, changed_at = now()",
                (
                    self._workspace.workspace,
                    name,
                    self._sealer.seal(cursor, value, "secret", name),
                    None if hosts is None else list(hosts),
                ),
            )
            detail = {} if hosts is None else {"hosts": list(hosts)}
            record(cursor, self._workspace.workspace, AuditAction.SECRET_PUT, name, detail)

    @on_thread
    def delete(self, name: str) -> bool:
        """Delete a secret. Return False if there is none."""
        with self._workspace.writing("settings") as cursor:
            cursor.execute(
                "delete from secrets where workspace_id = %s and name = %s", (self._workspace.workspace, name)
            )
            is_deleted = cursor.rowcount > 0
            if is_deleted:
                record(cursor, self._workspace.workspace, AuditAction.SECRET_DELETE, name)
            return is_deleted

    @reads_sealed
    def _read(self, cursor: Cursor) -> Mapping[str, Secret]:
        cursor.execute(
            "select name, sealed, hosts from secrets where workspace_id = %s order by name",
            (self._workspace.workspace,),
        )
        return {
            name: Secret(
                name=name,
                value=self._sealer.open(cursor, sealed, "secret", name),
                hosts=None if hosts is None else tuple(hosts),
            )
            for name, sealed, hosts in cursor.fetchall()
        }

    def _check_quota(self, cursor: Cursor, name: str) -> None:
        workspace = self._workspace.workspace
        limit = read_limits(cursor, workspace).secrets
        cursor.execute(
            "select count(*) from secrets where workspace_id = %s and name <> %s", (workspace, name)
        )
        ((count,),) = cursor.fetchall()
        if limit is not None and count >= limit:
            raise QuotaExceeded(
                f"{name!r} was not stored: the workspace has {count} secrets, and its limit is {limit}"
                " (secrets). Delete others first."
            )
