"""Open connections of the server, and how many of them there may be."""

import sys
from dataclasses import dataclass
from typing import Protocol

MAX_CONNECTIONS = 1_000
MAX_HOSTED_CONNECTIONS = 10_000
MAX_HEADER_BYTES = 64 * 2**10
"""Bytes of a request apart from its body: its line, headers, trailers and chunk extensions."""
MAX_UNREAD_BYTES = 64 * 2**20
"""Bytes of a body that are received and dropped after the response, so that the client can read it."""
MAX_PIPELINED = 16
"""Requests of one connection that wait for the response to another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """How many connections there may be, and how long a client may take."""

    max_connections: int
    max_per_address: int
    header_timeout_s: float = 10.0
    """Time for the line and the headers of a request, from its first byte or from the connection."""
    body_timeout_s: float = 30.0
    """Time for a body, in addition to its size divided by `min_body_bytes_per_s`."""
    min_body_bytes_per_s: int = 8 * 2**10
    write_timeout_s: float = 60.0
    """Time without progress in which a client must read more of a response."""


class LimitedConnection(Protocol):
    """One connection, as the limits see it."""

    @property
    def is_authenticated(self) -> bool:
        """Whether a request with the token or the cookie is in progress."""

    def abort(self) -> None:
        """Close the connection immediately."""

    def check_deadlines(self, now: float) -> None:
        """Close the connection if its client takes too long."""


class ConnectionTable:
    """Open connections by address, oldest first.

    A connection above a limit replaces the oldest one without an authenticated request. So a client that
    opens connections and sends nothing takes its own connections away, not those of others.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._addresses: dict[LimitedConnection, str] = {}
        self._by_address: dict[str, dict[LimitedConnection, None]] = {}

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._addresses)

    def add(self, connection: LimitedConnection, address: str) -> bool:
        """Add a connection and return whether it may stay."""
        own = self._by_address.get(address, {})
        if len(own) >= self.limits.max_per_address and not self._abort_oldest(own):
            return False
        if len(self) >= self.limits.max_connections and not self._abort_oldest(self._addresses):
            return False
        self._addresses[connection] = address
        self._by_address.setdefault(address, {})[connection] = None
        return True

    def remove(self, connection: LimitedConnection) -> None:
        """Remove a connection, if it is still there."""
        address = self._addresses.pop(connection, None)
        if address is None:
            return
        own = self._by_address[address]
        del own[connection]
        if not own:
            del self._by_address[address]

    def check_deadlines(self, now: float) -> None:
        """Close all connections whose clients take too long."""
        for connection in tuple(self._addresses):
            connection.check_deadlines(now)

    def _abort_oldest(
        self, connections: dict[LimitedConnection, str] | dict[LimitedConnection, None]
    ) -> bool:
        """Abort the oldest connection without an authenticated request and return whether there is one."""
        oldest = next((one for one in connections if not one.is_authenticated), None)
        if oldest is None:
            return False
        self.remove(oldest)
        oldest.abort()
        return True


def default_limits() -> ConnectionLimits:
    """Return limits that leave half of the process's files for tools, and half of the rest for others."""
    connections = min(MAX_CONNECTIONS, _max_files() // 2)
    return ConnectionLimits(max_connections=connections, max_per_address=connections // 2)


def hosted_limits() -> ConnectionLimits:
    """Return limits for a server behind a proxy, from whose address all connections come.

    Raises the number of files that this process may open, as far as the system permits.
    """
    connections = min(MAX_HOSTED_CONNECTIONS, _allow_files(2 * MAX_HOSTED_CONNECTIONS) // 2)
    return ConnectionLimits(max_connections=connections, max_per_address=connections)


def _allow_files(count: int) -> int:
    """Let this process open that many files and sockets, if possible. Return how many it may open."""
    if sys.platform != "win32":
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        allowed = count if hard == resource.RLIM_INFINITY else min(count, hard)
        if soft != resource.RLIM_INFINITY and soft < allowed:
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return _max_files()


def _max_files() -> int:
    """Return the number of files and sockets that this process may open."""
    if sys.platform == "win32":  # pragma: no cover
        return 2 * MAX_CONNECTIONS
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else soft
