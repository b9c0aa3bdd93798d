"""The rights of the members of a workspace, read again before a call whenever they have changed."""

import asyncio
from collections.abc import Hashable, Mapping

from onetool.domain.errors import WorkspaceUnavailable
from onetool.domain.policy.rights import NO_RIGHTS, Rights
from onetool.ports import MemberStore

from .without_tools import SourceWithoutTools


class Members(SourceWithoutTools):
    """What the policy knows about members. Principals that are not among them have no rights."""

    name = "members"

    def __init__(self, store: MemberStore) -> None:
        self.store = store
        self._rights: Mapping[str, Rights] = {}
        self._seen: Hashable = None
        self._lock = asyncio.Lock()

    def generation(self) -> Hashable:
        """Return a value that changes with the members, their roles and grants."""
        return self.store.generation()

    async def refresh(self) -> None:
        """Read the rights again. If the database is away, those that were read before stay."""
        async with self._lock:  # what was read later must not be replaced by what was read earlier
            seen = self.store.generation()
            try:
                self._rights = await self.store.rights()
            except WorkspaceUnavailable:
                raise
            except Exception:
                self._rights = {}
                raise
            self._seen = seen

    def of(self, principal: str) -> Rights:
        """Return the rights of a principal as last read."""
        return self._rights.get(principal, NO_RIGHTS)

    async def current(self, principal: str) -> Rights:
        """Return the rights of a principal. Reads them again if they have changed.

        Raises:
            StoreUnavailable: They cannot be read.
        """
        if self._seen is None or self._seen != self.store.generation():
            await self.refresh()
        return self.of(principal)
