"""The clients themselves, over connections that resolve once and dial what was checked."""

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

TIMEOUT = 10.0
CONNECTIONS, IDLE, IDLE_SECONDS = 100, 20, 5.0
NO_SOCKETS = "Unix sockets are not reached from here."


class Backend(httpcore2.SyncBackend):
    """Connects threads."""

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
        """Connect to the first address of a host that answers."""
        failure: Exception = OSError(f"{host!r} has no address")
        for address in resolve(host, port, self._allowed):
            try:
                return super().connect_tcp(address, port, timeout, local_address, socket_options)
            except httpcore2.ConnectError as error:
                failure = error
        raise failure

    def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.NetworkStream:
        """Refuse."""
        raise HostNotAllowed(NO_SOCKETS)


class Stream(httpcore2.AsyncNetworkStream):
    """A connection that is closed also when its call is given up in the middle of the TLS handshake."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self.read, self.write, self.aclose = stream.read, stream.write, stream.aclose  # type: ignore[method-assign]
        self.get_extra_info = stream.get_extra_info  # type: ignore[method-assign]

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Go on encrypted."""
        try:
            return await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except asyncio.CancelledError:
            await self.aclose()
            raise


class AsyncBackend(httpcore2.AnyIOBackend):
    """Connects the event loop."""

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
        """Connect to the first address of a host that answers."""
        failure: Exception = httpcore2.ConnectError(f"{host!r} has no address")
        for address in await _resolve(host, port, self._allowed, timeout):
            try:
                return Stream(
                    await super().connect_tcp(address, port, timeout, local_address, socket_options)
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        """Refuse."""
        raise HostNotAllowed(NO_SOCKETS)


class Transport(httpx2.HTTPTransport):
    """A pool for threads."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._pool = httpcore2.ConnectionPool(ssl_context=_ssl_context(), network_backend=Backend(allowed))


class AsyncTransport(httpx2.AsyncHTTPTransport):
    """A pool for the event loop."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_ssl_context(),
            max_connections=CONNECTIONS,
            max_keepalive_connections=IDLE,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=AsyncBackend(allowed),
        )


def make_client(allowed: Sequence[str]) -> httpx2.Client:
    """Make the client for threads."""
    return httpx2.Client(
        transport=Transport(allowed), timeout=TIMEOUT, follow_redirects=True, trust_env=False
    )


def make_async_client(transport: httpx2.AsyncBaseTransport) -> httpx2.AsyncClient:
    """Make the client for the event loop."""
    return httpx2.AsyncClient(
        transport=transport,
        timeout=TIMEOUT,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        follow_redirects=False,
        trust_env=False,
    )


@cache
def _ssl_context() -> ssl.SSLContext:
    """One for all pools: to read the certificates takes longer than most requests."""
    return httpx2.create_ssl_context(trust_env=False)


async def _resolve(host: str, port: int, allowed: Sequence[str], timeout: float | None) -> list[str]:
    """Resolve on a thread of its own: a slow name server holds up neither the loop nor the exit."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str] | Exception] = loop.create_future()

    def work() -> None:
        outcome: list[str] | Exception
        try:
            outcome = resolve(host, port, allowed)
        except (OSError, UnicodeError) as error:
            outcome = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_settle, found, outcome)

    threading.Thread(target=work, name="onetool-resolve", daemon=True).start()
    try:
        async with asyncio.timeout(timeout):
            outcome = await found
    except TimeoutError as error:
        raise httpcore2.ConnectTimeout(f"{host!r} was not resolved in time") from error
    if isinstance(outcome, HostNotAllowed):
        raise outcome
    if isinstance(outcome, Exception):
        raise httpcore2.ConnectError(f"{host!r} was not resolved: {outcome}") from outcome
    return outcome


def _settle(found: "asyncio.Future[list[str] | Exception]", outcome: list[str] | Exception) -> None:
    if not found.done():
        found.set_result(outcome)
