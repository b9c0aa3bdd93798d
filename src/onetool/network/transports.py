"""HTTP transports that resolve a host once, check its addresses and connect to exactly those."""

import asyncio
import ssl
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpcore2
import httpx2

from .resolution import HostNotAllowed, resolve

TIMEOUT_S = 10.0
MAX_CONNECTIONS, MAX_IDLE_CONNECTIONS, IDLE_TIMEOUT_S = 100, 20, 5.0
NO_UNIX_SOCKETS = "Unix sockets are not allowed."


class GuardedBackend(httpcore2.SyncBackend):
    """Opens checked connections for threads."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = allowed

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address of a host that accepts the connection."""
        failure: Exception = OSError(f"{host!r} has no address")
        for address in resolve(host, port, self._allowed):
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore2.ConnectError as error:
                failure = error
        raise failure

    def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.NetworkStream:
        """Reject the connection."""
        raise HostNotAllowed(NO_UNIX_SOCKETS)


class GuardedStream(httpcore2.AsyncNetworkStream):
    """A connection that is also closed when its task is cancelled during the TLS handshake."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self.read, self.write, self.aclose = stream.read, stream.write, stream.aclose  # type: ignore[method-assign]
        self.get_extra_info = stream.get_extra_info  # type: ignore[method-assign]

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Start TLS."""
        try:
            return await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except asyncio.CancelledError:
            await self.aclose()
            raise


class AsyncGuardedBackend(httpcore2.AnyIOBackend):
    """Opens checked connections for the event loop."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = allowed

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address of a host that accepts the connection."""
        failure: Exception = httpcore2.ConnectError(f"{host!r} has no address")
        for address in await _resolve(host, port, self._allowed, timeout):
            try:
                return GuardedStream(
                    await super().connect_tcp(address, port, timeout, local_address, socket_options)
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        """Reject the connection."""
        raise HostNotAllowed(NO_UNIX_SOCKETS)


class GuardedTransport(httpx2.HTTPTransport):
    """A connection pool for threads."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._pool = httpcore2.ConnectionPool(
            ssl_context=_ssl_context(), network_backend=GuardedBackend(allowed)
        )


class AsyncGuardedTransport(httpx2.AsyncHTTPTransport):
    """A connection pool for the event loop."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_ssl_context(),
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_TIMEOUT_S,
            network_backend=AsyncGuardedBackend(allowed),
        )


def _no_cookies() -> CookieJar:
    """Return a jar that stores nothing: packs and tools share the client."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def make_client(allowed: Sequence[str]) -> httpx2.Client:
    """Create the client for threads."""
    return httpx2.Client(
        transport=GuardedTransport(allowed),
        timeout=TIMEOUT_S,
        follow_redirects=True,
        trust_env=False,
        cookies=_no_cookies(),
    )


def make_async_client(transport: httpx2.AsyncBaseTransport) -> httpx2.AsyncClient:
    """Create the client for the event loop."""
    return httpx2.AsyncClient(
        transport=transport,
        timeout=TIMEOUT_S,
        cookies=_no_cookies(),
        follow_redirects=False,
        trust_env=False,
    )


@cache
def _ssl_context() -> ssl.SSLContext:
    """Return one context for all pools: reading the certificates takes longer than most requests."""
    return httpx2.create_ssl_context(trust_env=False)


async def _resolve(host: str, port: int, allowed: Sequence[str], timeout: float | None) -> list[str]:
    """Resolve on a daemon thread, so that a slow name server blocks neither the loop nor the exit."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[str] | Exception] = loop.create_future()

    def work() -> None:
        outcome: list[str] | Exception
        try:
            outcome = resolve(host, port, allowed)
        except (OSError, UnicodeError) as error:
            outcome = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_set_result, future, outcome)

    threading.Thread(target=work, name="onetool-resolve", daemon=True).start()
    try:
        async with asyncio.timeout(timeout):
            outcome = await future
    except TimeoutError as error:
        raise httpcore2.ConnectTimeout(f"resolving {host!r} timed out") from error
    if isinstance(outcome, HostNotAllowed):
        raise outcome
    if isinstance(outcome, Exception):
        raise httpcore2.ConnectError(f"cannot resolve {host!r}: {outcome}") from outcome
    return outcome


def _set_result(future: "asyncio.Future[list[str] | Exception]", outcome: list[str] | Exception) -> None:
    if not future.done():
        future.set_result(outcome)
