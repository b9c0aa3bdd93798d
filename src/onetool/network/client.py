"""The guarded, pooled HTTP client: every connection is made to an address that was checked."""

import socket
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .addresses import is_listed, is_public

if TYPE_CHECKING:
    import httpx2

TIMEOUT = 10.0


class HostNotAllowed(ConnectionError):
    """A URL leads to an address that is not public and was not listed."""


def resolve(host: str, port: int, allowed: Sequence[str]) -> list[str]:
    """Return the addresses of a host, resolved once; whoever connects must use these and not ask again.

    Raises HostNotAllowed when any of them is not public, unless the operator has listed the host.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    closed = [] if is_listed(host, allowed) else [one for one in addresses if not is_public(one)]
    if closed:
        why = f"{host!r} leads to {closed[0]}, which is not public."
        raise HostNotAllowed(f"{why} Add {host!r} to allowedHosts to reach it.")
    return addresses


class HttpClients:
    """One client with one pool of connections, made when it is first needed."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = allowed
        self._client: httpx2.Client | None = None
        self._lock = threading.Lock()

    def client(self) -> "httpx2.Client":
        """Return the client; do not close it."""
        with self._lock:
            if self._client is None:
                self._client = _make_client(self._allowed)
            return self._client

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def _make_client(allowed: Sequence[str]) -> "httpx2.Client":
    import httpcore2
    import httpx2

    class Backend(httpcore2.SyncBackend):
        def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> httpcore2.NetworkStream:
            failure: Exception = OSError(f"{host!r} has no address")
            for address in resolve(host, port, allowed):
                try:
                    return super().connect_tcp(address, port, timeout, local_address, socket_options)
                except httpcore2.ConnectError as error:
                    failure = error
            raise failure

        def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.NetworkStream:
            raise HostNotAllowed("Unix sockets are not reached from here.")

    class Transport(httpx2.HTTPTransport):
        def __init__(self) -> None:
            context = httpx2.create_ssl_context(trust_env=False)
            self._pool = httpcore2.ConnectionPool(ssl_context=context, network_backend=Backend())

    return httpx2.Client(transport=Transport(), timeout=TIMEOUT, follow_redirects=True, trust_env=False)
