"""Administration of a hosted OneTool: migrations, workspaces and API keys."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from onetool.domain.errors import SettingsError
from onetool.settings.configuration import parse_settings
from onetool.settings.hosted_profile import check_hosted
from onetool.settings.schema import Settings
from onetool.storage.postgres.api_keys import PostgresApiKeys
from onetool.storage.postgres.database import Database, WorkspaceDatabase
from onetool.storage.postgres.directory import Directory, WorkspaceAdmin
from onetool.storage.postgres.key_ring import KeyRing, new_key
from onetool.storage.postgres.migrate import migrate as migrate_database
from onetool.storage.postgres.sealer import Sealer
from onetool.storage.postgres.secrets import PostgresSecrets
from onetool.storage.postgres.settings import PostgresSettings, SettingsVersion
from onetool.threads import Threads

__all__ = [
    "WorkspaceAdmin",
    "WorkspaceContents",
    "migrate_database",
    "new_key",
    "open_contents",
    "workspace_admin",
]


def workspace_admin(url: str, keys: str) -> WorkspaceAdmin:
    """Return what manages workspaces.

    Raises:
        SettingsError: The keys are invalid.
    """
    return WorkspaceAdmin(url, KeyRing.parse(keys))


class WorkspaceContents:
    """The API keys, settings and secrets of a workspace, for an operator."""

    def __init__(self, workspace: WorkspaceDatabase, threads: Threads, ring: KeyRing) -> None:
        self.keys = PostgresApiKeys(workspace, threads)
        self.secrets = PostgresSecrets(workspace, threads, Sealer(workspace, ring))
        self._settings, self._threads = PostgresSettings(workspace, threads), threads

    async def settings(self) -> SettingsVersion:
        """Return the settings."""
        return await self._threads.run(self._settings.read)

    async def secret_names(self) -> list[str]:
        """Return the names of the secrets."""
        return list(await self._threads.run(self.secrets.read))

    async def replace_settings(self, document: dict[str, Any], changed_by: str) -> int:
        """Check and store settings. Return their version.

        Raises:
            SettingsError: They are invalid, use something of the server, or were changed meanwhile.
        """
        check_hosted(parse_settings(Settings, document, lambda path: "settings"))
        current = await self.settings()
        if not await self._settings.put(current._replace(document=document), changed_by):
            raise SettingsError("The settings were changed by someone else at the same time. Try again.")
        return current.version + 1


@asynccontextmanager
async def open_contents(url: str, keys: str, slug: str) -> AsyncIterator[WorkspaceContents]:
    """Open what a workspace contains, without running it.

    Raises:
        SettingsError: There is no such workspace, or the keys are invalid.
        StoreUnavailable: The database cannot be reached.
    """
    ring, threads, database = KeyRing.parse(keys), Threads(), Database(url)
    try:
        found = await threads.run(Directory(database).find, slug)
        if found is None:
            raise SettingsError(f"There is no workspace {slug!r}.")
        yield WorkspaceContents(WorkspaceDatabase(database, found.id), threads, ring)
    finally:
        await threads.run(database.close)
        threads.close()
