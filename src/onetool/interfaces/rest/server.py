"""The uvicorn server: malformed requests and shutdown."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

GRACE_PERIOD_S = 30
"""Seconds that requests in progress have to finish when the server stops."""


class HttpProtocol(HttpToolsProtocol):
    """Responds to malformed requests with a problem, like the routes."""

    def send_400_response(self, msg: str) -> None:
        """Send a problem with status 400 and close the connection."""
        body = orjson.dumps({"type": "about:blank", "title": "Bad Request", "status": 400, "detail": msg})
        head = f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\nconnection: close"
        self.transport.write(f"HTTP/1.1 400 Bad Request\r\n{head}\r\n\r\n".encode() + body)
        self.transport.close()


class UvicornServer(uvicorn.Server):
    """A server without signal handlers: uvicorn's own would terminate the process by the signal."""

    def stop(self) -> None:
        """Finish the requests in progress and stop. The second call stops immediately."""
        self.force_exit = self.should_exit
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the caller."""
        yield


def create_server(app: Any) -> UvicornServer:
    """Create a server for an app. Pass the sockets to `serve`."""
    config = uvicorn.Config(
        app,
        http=HttpProtocol,
        log_config=None,
        access_log=False,
        proxy_headers=False,  # clients on this machine could claim to have any address
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=GRACE_PERIOD_S,
    )
    return UvicornServer(config)
