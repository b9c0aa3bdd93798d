"""Pooled HTTP clients that connect only to checked addresses."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2


class HttpClients:
    """A client for threads and one for the event loop, each with its own pool, created on first use."""

    def __init__(
        self, allowed: Sequence[str], check_request: "Callable[[httpx2.Request], None] | None" = None
    ) -> None:
        """Create the clients when they are used.

        check_request: called by the client for threads before each request, also after a redirect.
        """
        self._allowed, self._check_request = allowed, check_request
        self._client: httpx2.Client | None = None
        self._async_client: httpx2.AsyncClient | None = None
        self._async_transport: httpx2.AsyncHTTPTransport | None = None
        self._lock = threading.Lock()

    def client(self) -> "httpx2.Client":
        """Return the client for threads, which follows redirects. Do not close it."""
        with self._lock:
            if self._client is None:
                from .transports import make_client

                _disable_request_logs()
                self._client = make_client(self._allowed)
                self._client.event_hooks["request"] += [self._check_request] if self._check_request else []
            return self._client

    def async_client(self) -> "httpx2.AsyncClient":
        """Return the client of the running event loop. Do not close it.

        It follows no redirects and stores no cookies, because different tools share it.
        """
        if self._async_client is None:
            from .transports import make_async_client

            _disable_request_logs()
            self._async_client = make_async_client(self.async_transport())
        return self._async_client

    def async_transport(self) -> "httpx2.AsyncHTTPTransport":
        """Return the transport of the running event loop, for requests to send without client defaults."""
        if self._async_transport is None:
            from .transports import AsyncGuardedTransport

            self._async_transport = AsyncGuardedTransport(self._allowed)
        return self._async_transport

    def close(self) -> None:
        """Close the connections of the client for threads."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close all connections. Call this on the event loop that used them."""
        self.close()
        transport, self._async_client, self._async_transport = self._async_transport, None, None
        if transport is not None:
            await transport.aclose()


def _disable_request_logs() -> None:
    """Drop httpx's log line for each request, because its URL may contain secrets in the query."""
    logging.getLogger("httpx2").addFilter(_is_above_info)


def _is_above_info(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO
