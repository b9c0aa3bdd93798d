"""Enabled flags of tools that are not stored as bundles, in PostgreSQL."""

from collections.abc import Hashable, Mapping

from onetool.domain.audit.entry import AuditAction
from onetool.threads import Threads

from .audit import record
from .database import on_thread
from .texts import check_storable
from .workspace_database import WorkspaceDatabase

READ = "select id, is_enabled from toggles where workspace_id = %s"
SET = """
insert into toggles (workspace_id, id, is_enabled) values (%s, %s, %s)
on conflict (workspace_id, id) do update set is_enabled = excluded.is_enabled
"""


class PostgresToggles:
    """Stores the flags by id, one row each."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads

    def generation(self) -> Hashable:
        """Return the revision of the workspace."""
        return self._workspace.generation

    @on_thread
    def read(self) -> Mapping[str, bool]:
        """Return every flag that was ever set."""
        with self._workspace.reading() as cursor:
            return dict(cursor.execute(READ, (self._workspace.workspace,)).fetchall())

    @on_thread
    def set(self, id: str, is_enabled: bool) -> None:
        """Set a flag. Durable on return.

        Raises:
            ValueError: The id cannot be stored.
        """
        row = (self._workspace.workspace, check_storable(id), is_enabled)
        with self._workspace.writing() as cursor:
            cursor.execute(SET, row)
            record(cursor, self._workspace.workspace, AuditAction.TOGGLE_SET, id, {"enabled": is_enabled})

    async def aclose(self) -> None:
        """Do nothing: connections belong to the process."""
