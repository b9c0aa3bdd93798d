"""Who makes a request to a hosted OneTool: the principals of API keys."""

from collections import OrderedDict
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from onetool.domain.errors import StoreUnavailable
from onetool.domain.identity.api_key import ApiKey
from onetool.domain.identity.client_grant import ClientToken
from onetool.domain.identity.principal import Principal
from onetool.storage.postgres.api_keys import PREFIX, PostgresApiKeys
from onetool.storage.postgres.workspace_database import WorkspaceDatabase

from .hosted import HostedParts

MAX_VERIFIED = 10_000


class ApiKeyAuthenticator:
    """Finds the principal of an API key. Keys stay in memory until one of their workspace is revoked."""

    prefix = PREFIX

    def __init__(self, parts: HostedParts) -> None:
        self._parts = parts
        self._verified: OrderedDict[tuple[str, bytes], _Verified] = OrderedDict()

    async def authenticate(self, slug: str, text: str) -> Principal | None:
        """Return the principal of a key of a workspace; None if there is no such key, or no such workspace.

        Raises:
            StoreUnavailable: The database cannot be reached: now, or for so long that the key may be revoked.
        """
        if self._parts.status() == "unavailable":
            raise StoreUnavailable("The database is away. Whether keys were revoked is not known.")
        place = slug, sha256(text.encode("utf-8", "replace")).digest()
        verified = self._verified.get(place)
        if verified is None or not verified.is_current:
            self._verified.pop(place, None)
            verified = await self._look_up(slug, text)
            if verified is None:
                return None
            self._verified[place] = verified
            if len(self._verified) > MAX_VERIFIED:
                self._verified.popitem(last=False)
        self._parts.check_known(verified.workspace)
        key = verified.key
        return Principal(key.owner, key.patterns, key.id) if key.is_valid(datetime.now(UTC)) else None

    async def _look_up(self, slug: str, text: str) -> "_Verified | None":
        if not text.startswith(self.prefix):
            return None
        async with self._parts.lookups.slot(slug):
            return await self._find(slug, text)

    async def _find(self, slug: str, text: str) -> "_Verified | None":
        threads = self._parts.threads
        found = await threads.run(self._parts.directory.find, slug)
        if found is None:
            return None
        workspace = self._parts.notices.workspace(found)
        changes = workspace.keys_changes
        key = await self._read(workspace, text)
        return None if key is None else _Verified(key, workspace, changes)

    async def _read(self, workspace: WorkspaceDatabase, text: str) -> ApiKey | ClientToken | None:
        return await PostgresApiKeys(workspace, self._parts.threads).find(text)


class _Verified(NamedTuple):
    """A key or token that was found."""

    key: ApiKey | ClientToken
    workspace: WorkspaceDatabase
    changes: int
    """`keys_changes` of the workspace, from before the key was read."""

    @property
    def is_current(self) -> bool:
        return self.workspace.keys_changes == self.changes
