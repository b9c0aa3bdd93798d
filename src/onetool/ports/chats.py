"""Ports of what processes must agree on about chats in progress."""

from collections.abc import Set as AbstractSet
from typing import Protocol

LEASE_S = 15.0
"""Seconds after its last renewal for which a session is reserved for a process."""


class SessionLeases(Protocol):
    """Reserves sessions of the current principal: one process at a time runs a question in a session.

    The rules of the other stores apply. Methods raise InvalidSession if the name of a session is not valid.
    """

    @property
    def lease_s(self) -> float:
        """Seconds for which a session is reserved without a renewal."""
        ...

    async def take(self, session: str) -> bool:
        """Reserve a session for this process. Return False if another process has it.

        Of several processes that try it at the same time, exactly one succeeds.
        """
        ...

    async def renew(self, session: str) -> bool:
        """Extend the reservation of this process. Return False if it has none any more."""
        ...

    async def release(self, session: str) -> None:
        """End the reservation of this process. Do nothing if it has none."""
        ...

    async def is_taken(self, session: str) -> bool:
        """Return whether a process has reserved a session."""
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...


class SessionApprovalStore(Protocol):
    """Stores the tools that the current principal always approves in a session."""

    async def add(self, session: str, tool: str) -> None:
        """Approve all calls of a tool in a session."""
        ...

    async def tools(self, session: str) -> AbstractSet[str]:
        """Return the tools that are always approved in a session."""
        ...

    async def discard(self, session: str) -> None:
        """Forget the tools that are always approved in a session."""
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...
