"""The uvicorn server: limits of connections and logs, and shutdown."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import uvicorn

from .connections import ConnectionLimits, ConnectionTable, default_limits
from .http_protocol import HttpProtocol
from .log_limit import limit_repeats

GRACE_PERIOD_S = 30
"""Seconds that requests in progress have to finish when the server stops."""
BACKLOG = 2048
"""Connections that wait until they are accepted."""
ACCEPT_BATCH = 64
"""Connections that are accepted before the limits apply to them."""
LIMITED_LOGGERS = ("uvicorn.error", "asyncio", "onetool.interfaces.rest.auth.middleware")
"""Loggers to which a client can cause any number of entries."""


class UvicornServer(uvicorn.Server):
    """A server without signal handlers: uvicorn's own would terminate the process by the signal."""

    def __init__(self, config: uvicorn.Config, connections: ConnectionTable) -> None:
        super().__init__(config)
        self._open_connections = connections

    def stop(self) -> None:
        """Finish the requests in progress and stop. The second call stops immediately."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the server is stopped."""
        with limit_repeats(LIMITED_LOGGERS):
            await super().serve(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen. asyncio accepts as many connections at once as its backlog says."""
        await super().startup(sockets)
        for sock in sockets or ():
            sock.listen(BACKLOG)

    async def on_tick(self, counter: int) -> bool:
        """Close the connections whose clients take too long, ten times a second."""
        self._open_connections.check_deadlines(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the caller."""
        yield


def create_server(
    app: Any, limits: ConnectionLimits | None = None, proxies: Sequence[str] = ()
) -> UvicornServer:
    """Create a server for an app. Pass the sockets to `serve`.

    Args:
        app: The ASGI app.
        limits: Limits of connections. Default: those of a server for one user.
        proxies: Addresses and networks of proxies that say which address and protocol a client has.
    """
    connections = ConnectionTable(limits or default_limits())
    config = uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(HttpProtocol, connections)),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=bool(proxies),  # other clients could claim to have any address
        forwarded_allow_ips=list(proxies),
        server_header=False,
        lifespan="off",
        backlog=ACCEPT_BATCH,
        timeout_graceful_shutdown=GRACE_PERIOD_S,
    )
    return UvicornServer(config, connections)
