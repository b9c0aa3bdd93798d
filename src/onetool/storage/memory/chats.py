"""Reservations of sessions, and what is always approved in them, in memory."""

from collections.abc import Set as AbstractSet

from onetool.domain.chat.transcript import check_session_name
from onetool.domain.identity.principal import current_principal
from onetool.ports.chats import LEASE_S

MAX_SESSIONS = 1_000
"""Sessions whose approvals are stored; the oldest session is discarded first."""


class MemorySessionLeases:
    """Reservations of this process. They last until they are released: it is alive while they exist."""

    lease_s = LEASE_S

    def __init__(self) -> None:
        self._taken: set[tuple[str, str]] = set()

    async def take(self, session: str) -> bool:
        """Reserve a session."""
        self._taken.add(_place(session))
        return True

    async def renew(self, session: str) -> bool:
        """Return whether the session is reserved."""
        return _place(session) in self._taken

    async def release(self, session: str) -> None:
        """End a reservation."""
        self._taken.discard(_place(session))

    async def is_taken(self, session: str) -> bool:
        """Return whether the session is reserved."""
        return _place(session) in self._taken

    async def aclose(self) -> None:
        """Do nothing."""


class MemorySessionApprovals:
    """Approvals in the sessions of this process, for its lifetime."""

    def __init__(self) -> None:
        self._tools: dict[tuple[str, str], set[str]] = {}

    async def add(self, session: str, tool: str) -> None:
        """Approve all calls of a tool in a session."""
        self._tools.setdefault(_place(session), set()).add(tool)
        if len(self._tools) > MAX_SESSIONS:
            del self._tools[next(iter(self._tools))]

    async def tools(self, session: str) -> AbstractSet[str]:
        """Return the tools that are always approved in a session."""
        return frozenset(self._tools.get(_place(session), ()))

    async def discard(self, session: str) -> None:
        """Forget the tools that are always approved in a session."""
        self._tools.pop(_place(session), None)

    async def aclose(self) -> None:
        """Do nothing."""


def _place(session: str) -> tuple[str, str]:
    return current_principal().id, check_session_name(session)
