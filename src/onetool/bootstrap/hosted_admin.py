"""Administration of a hosted OneTool: migrations, workspaces and API keys."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from onetool.domain.errors import SettingsError
from onetool.domain.identity.api_key import ApiKey
from onetool.storage.postgres.api_keys import NewApiKey, PostgresApiKeys
from onetool.storage.postgres.database import Database, WorkspaceDatabase
from onetool.storage.postgres.directory import Directory, WorkspaceAdmin
from onetool.storage.postgres.key_ring import KeyRing, new_key
from onetool.storage.postgres.migrate import migrate as migrate_database
from onetool.threads import Threads

__all__ = ["KeyAdmin", "migrate_database", "new_key", "workspace_admin"]


def workspace_admin(url: str, keys: str) -> WorkspaceAdmin:
    """Return what manages workspaces.

    Raises:
        SettingsError: The keys are invalid.
    """
    return WorkspaceAdmin(url, KeyRing.parse(keys))


class KeyAdmin:
    """Manages the API keys of workspaces."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def create(self, slug: str, owner: str, name: str, lifetime: timedelta) -> NewApiKey:
        """Create a key."""
        async with self._open(slug) as keys:
            return await keys.create(owner, name, lifetime)

    async def list(self, slug: str) -> Sequence[ApiKey]:
        """Return all keys of a workspace, newest first."""
        async with self._open(slug) as keys:
            return await keys.list()

    async def revoke(self, slug: str, id: str) -> bool:
        """Revoke a key. Return False if there is none, or if it was revoked before."""
        async with self._open(slug) as keys:
            return await keys.revoke(id)

    @asynccontextmanager
    async def _open(self, slug: str) -> AsyncIterator[PostgresApiKeys]:
        threads, database = Threads(), Database(self._url)
        try:
            found = await threads.run(Directory(database).find, slug)
            if found is None:
                raise SettingsError(f"There is no workspace {slug!r}.")
            yield PostgresApiKeys(WorkspaceDatabase(database, found.id), threads)
        finally:
            await threads.run(database.close)
            threads.close()
