"""Settings of a workspace in PostgreSQL: every version is kept, and the last one counts."""

from typing import Any, NamedTuple

import orjson

from onetool.domain.audit.entry import AuditAction
from onetool.threads import Threads

from .audit import record
from .database import Cursor, on_thread, store_errors
from .workspace_database import WorkspaceDatabase


class SettingsVersion(NamedTuple):
    """Settings and prompts as JSON."""

    version: int
    document: dict[str, Any]
    prompts: dict[str, Any]


class PostgresSettings:
    """The settings of one workspace."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads) -> None:
        self._workspace, self._threads = workspace, threads

    def read(self) -> SettingsVersion:
        """Return the last version; version 0 without settings if there is none. Blocks.

        Raises:
            StoreUnavailable: The database has failed.
        """
        with store_errors(), self._workspace.reading() as cursor:
            return self._read(cursor)

    @on_thread
    def put(self, settings: SettingsVersion, changed_by: str) -> bool:
        """Add the version after the one that was read. Return False if another process was faster."""
        with self._workspace.writing("settings") as cursor:
            old = self._read(cursor)
            cursor.execute(
                "insert into settings (workspace_id, version, document, prompts, changed_by)"
                " select %(ws)s, %(version)s, %(document)s, %(prompts)s, %(by)s where not exists"
                " (select from settings where workspace_id = %(ws)s and version >= %(version)s)",
                {
                    "ws": self._workspace.workspace,
                    "version": settings.version + 1,
                    "document": orjson.dumps(settings.document).decode(),
                    "prompts": orjson.dumps(settings.prompts).decode(),
                    "by": changed_by,
                },
            )
            is_stored = cursor.rowcount > 0
            if is_stored:
                detail = {"version": settings.version + 1, "keys": _changed_keys(old, settings)}
                record(cursor, self._workspace.workspace, AuditAction.SETTINGS_REPLACE, "settings", detail)
            return is_stored

    def _read(self, cursor: Cursor) -> SettingsVersion:
        cursor.execute(
            "select version, document, prompts from settings where workspace_id = %s"
            " order by version desc limit 1",
            (self._workspace.workspace,),
        )
        row = cursor.fetchone()
        if row is None:
            return SettingsVersion(0, {}, {})
        return SettingsVersion(row[0], orjson.loads(row[1]), orjson.loads(row[2]))


def _changed_keys(old: SettingsVersion, new: SettingsVersion) -> list[str]:
    """Return the top-level keys whose values differ, and `prompts`."""
    keys = {*old.document, *new.document}
    changed = sorted(key for key in keys if old.document.get(key) != new.document.get(key))
    return changed if old.prompts == new.prompts else [*changed, "prompts"]
