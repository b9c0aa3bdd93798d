"""Port of the store of the sessions of MCP clients."""

import re
from collections.abc import Hashable, Mapping
from typing import Protocol

SESSION_ID = re.compile(r"[0-9a-f]{32}")
ENTRY_NAME = re.compile(r"[a-z]{1,16}(\.[0-9a-f]{64})?")


def check_entry(session: str, name: str) -> None:
    """Check names that stores use for files.

    Raises:
        ValueError: The id of the session or the name of the entry is not valid.
    """
    if SESSION_ID.fullmatch(session) is None:
        raise ValueError(f"Invalid session id {session!r}. Use 32 lowercase hexadecimal digits.")
    if ENTRY_NAME.fullmatch(name) is None:
        raise ValueError(f"Invalid name {name!r}. Use letters, and after a dot 64 hexadecimal digits.")


class ClientSessionStore(Protocol):
    """Stores what MCP clients have set in their sessions, for all processes of a user.

    An entry of a session is a text with a name. The rules of the other stores apply.
    """

    def generation(self, session: str) -> Hashable:
        """Return a value that changes with every write to a session, by any process. It costs one stat."""
        ...

    async def read(self, session: str) -> Mapping[str, str]:
        """Return the entries of a session by name."""
        ...

    async def put(self, session: str, name: str, text: str) -> None:
        """Create or replace an entry.

        Raises:
            ValueError: The id of the session or the name is not valid.
        """
        ...

    async def remove(self, session: str, name: str) -> None:
        """Remove an entry. Do nothing if there is none.

        Raises:
            ValueError: The id of the session or the name is not valid.
        """
        ...

    async def reap(self, before: float) -> None:
        """Delete the sessions that were last written before a time in seconds since the epoch."""
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...
