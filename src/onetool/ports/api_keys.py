"""The API keys of a workspace."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from onetool.domain.identity.api_key import ApiKey, NewApiKey


class ApiKeyStore(Protocol):
    """Stores the API keys of a workspace. No method blocks the event loop."""

    async def create(
        self, owner: str, name: str, lifetime: timedelta, patterns: Sequence[str] = ()
    ) -> NewApiKey:
        """Create a key for calls on behalf of an owner.

        Raises:
            MemberError: The owner is not a member, or has too many valid keys.
        """
        ...

    async def list(self, owner: str | None = None) -> Sequence[ApiKey]:
        """Return the keys of an owner, or all, newest first."""
        ...

    async def revoke(self, id: str, owner: str | None = None) -> bool:
        """Revoke a key, of an owner if one is given. Return False if there is no such valid key."""
        ...
