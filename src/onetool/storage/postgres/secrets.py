"""Secrets of a workspace in PostgreSQL, sealed."""

from collections.abc import Mapping, Sequence

from onetool.settings.secrets import Secret
from onetool.threads import Threads

from .database import WorkspaceDatabase, on_thread
from .sealer import Sealer


class PostgresSecrets:
    """The secrets of one workspace, by name."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads, sealer: Sealer) -> None:
        self._workspace, self._threads, self._sealer = workspace, threads, sealer

    def read(self) -> Mapping[str, Secret]:
        """Return all secrets. Blocks."""
        with self._workspace.reading() as cursor:
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

    @on_thread
    def put(self, name: str, value: str, hosts: Sequence[str] | None = None) -> None:
        """Create or replace a secret.

        hosts: where it may be sent; None: to any host.
        """
        with self._workspace.writing() as cursor:
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
        self._workspace.note_settings_change()

    @on_thread
    def delete(self, name: str) -> bool:
        """Delete a secret. Return False if there is none."""
        with self._workspace.writing() as cursor:
            cursor.execute(
                "delete from secrets where workspace_id = %s and name = %s", (self._workspace.workspace, name)
            )
            is_deleted = cursor.rowcount > 0
        self._workspace.note_settings_change()
        return is_deleted
