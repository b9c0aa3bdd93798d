"""The secrets of a workspace and of its members."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from onetool.domain.secrets.secret import Secret


class OwnSecrets(Protocol):
    """Stores secrets of single members, for their own calls. No method blocks the event loop."""

    async def of(self, owner: str) -> Mapping[str, Secret]:
        """Return the secrets of a member by name.

        Raises:
            StoreUnavailable: They cannot be read.
        """
        ...

    async def put(self, owner: str, name: str, value: str, hosts: Sequence[str]) -> None:
        """Create or replace a secret of a member.

        hosts: where it may be sent.

        Raises:
            QuotaExceeded: The member has as many secrets as it may have.
        """
        ...

    async def delete(self, owner: str, name: str) -> bool:
        """Delete a secret of a member. Return False if there is none."""
        ...


class WorkspaceSecrets(Protocol):
    """Stores the secrets of a workspace. No method blocks the event loop."""

    async def hosts(self) -> Mapping[str, Sequence[str] | None]:
        """Return the hosts to which each secret may be sent, by its name; None: to any host."""
        ...

    async def put(self, name: str, value: str, hosts: Sequence[str] | None = None) -> None:
        """Create or replace a secret.

        hosts: where it may be sent; None: to any host.

        Raises:
            QuotaExceeded: The workspace has as many secrets as it may have.
        """
        ...

    async def delete(self, name: str) -> bool:
        """Delete a secret. Return False if there is none."""
        ...
