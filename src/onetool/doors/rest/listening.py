"""The server underneath: what it does when a request is not even HTTP, and how it is ended."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

GRACE = 30
"""Seconds that calls in flight have to finish when the server is ended."""


class Protocol(HttpToolsProtocol):
    """Answers rubbish as everything else is answered: with a problem."""

    def send_400_response(self, msg: str) -> None:
        """Say that this was no request, and hang up."""
        body = orjson.dumps({"type": "about:blank", "title": "Bad Request", "status": 400, "detail": msg})
        head = f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\nconnection: close"
        self.transport.write(f"HTTP/1.1 400 Bad Request\r\n{head}\r\n\r\n".encode() + body)
        self.transport.close()


class Server(uvicorn.Server):
    """Ends when `should_exit` is set: uvicorn's own handlers would end the process by the signal itself."""

    def end(self) -> None:
        """Finish what is under way, and end; asked for the second time, end at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to whoever starts the server."""
        yield


def make_server(app: Any) -> Server:
    """Make a server for an app; sockets are given to its `serve`."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=GRACE,
    )
    return Server(config)
