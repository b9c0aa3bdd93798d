"""The MCP clients that people have allowed in a workspace."""

from collections.abc import Sequence
from typing import Protocol

from onetool.domain.identity.client_grant import ClientGrant


class ClientGrantStore(Protocol):
    """Stores what people have allowed clients to do. No method blocks the event loop."""

    async def list(self, person: str) -> Sequence[ClientGrant]:
        """Return the clients that a person has allowed and that can still be used, newest first."""
        ...

    async def revoke(self, id: str, person: str) -> bool:
        """Take back what a person has allowed, with all tokens. Return False if there is no such grant."""
        ...
