"""Server manifests in PostgreSQL, one row per server, so that tools are listed before a server starts."""

import json
import logging
from collections.abc import Callable, Hashable

from onetool.domain.audit.entry import AuditAction
from onetool.domain.servers.approvals import new_approvals
from onetool.domain.servers.manifest import ServerManifest
from onetool.threads import Threads

from .audit import record
from .database import Cursor, on_thread
from .texts import check_storable, is_storable
from .workspace_database import WorkspaceDatabase

MAX_NAMES = 100
"""Names of approved tools in an entry of the audit log."""
MAX_NAME_LENGTH = 200
log = logging.getLogger(__name__)
READ = "select body from manifests where workspace_id = %s and server = %s"
PUT = """
insert into manifests (workspace_id, server, body) values (%s, %s, %s)
on conflict (workspace_id, server) do update set body = excluded.body
"""


class PostgresManifests:
    """Stores each manifest as JSON. The row of the workspace serializes writes across processes."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads

    def generation(self, server: str) -> Hashable:
        """Return the revision of the workspace."""
        return self._workspace.generation

    @on_thread
    def read(self, server: str) -> ServerManifest | None:
        """Return the manifest of a server. A corrupt one counts as missing."""
        if not is_storable(server):
            return None
        with self._workspace.reading() as cursor:
            return self._read(cursor, server)

    @on_thread
    def change(
        self, server: str, change: Callable[[ServerManifest | None], ServerManifest]
    ) -> ServerManifest:
        """Replace the manifest with what `change` returns. Durable on return.

        Raises:
            ValueError: The name of the server cannot be stored.
        """
        check_storable(server)
        with self._workspace.writing() as cursor:
            old = self._read(cursor, server)
            changed = change(old)
            cursor.execute(PUT, (self._workspace.workspace, server, json.dumps(changed.to_json())))
            if approved := new_approvals(old, changed):
                detail = {
                    "approved": [name[:MAX_NAME_LENGTH] for name in approved[:MAX_NAMES]],
                    "count": len(approved),
                }
                record(cursor, self._workspace.workspace, AuditAction.SERVER_APPROVE, server, detail)
        return changed

    async def aclose(self) -> None:
        """Do nothing: connections belong to the process."""

    def _read(self, cursor: Cursor, server: str) -> ServerManifest | None:
        row = cursor.execute(READ, (self._workspace.workspace, server)).fetchone()
        if row is None:
            return None
        try:
            return ServerManifest.from_json(json.loads(row[0]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.error("ignored corrupt manifest of server %s: %s", server, error)
            return None
