"""HTTP connections with limits, and problems for requests that no route can answer."""

from asyncio import Transport
from enum import Enum, auto
from http import HTTPStatus
from math import inf
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .auth.middleware import AUTHENTICATED
from .auth.wrong_tokens import client_network
from .connections import MAX_HEADER_BYTES, MAX_PIPELINED, MAX_UNREAD_BYTES, ConnectionTable

CHUNK_FRAME_BYTES = 16
"""At most so many bytes frame a chunk of a body."""


class Receiving(Enum):
    """What the client has to send next."""

    HEADER = auto()
    BODY = auto()
    NOTHING = auto()


class HttpProtocol(HttpToolsProtocol):
    """A connection that the client must use in time. Uvicorn itself limits only idle connections."""

    def __init__(self, connections: ConnectionTable, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._open_connections, self._limits = connections, connections.limits
        self._receiving, self._started_at, self._is_unused = Receiving.HEADER, 0.0, True
        self._deadline = self._write_deadline = inf
        self._header_bytes = self._body_bytes = self._unread_bytes = 0

    # Connection

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Start the time for the first request, or reject the connection."""
        super().connection_made(transport)
        self._expect(Receiving.HEADER)
        if not self._open_connections.add(self, client_network(self.client[0] if self.client else "")):
            self._reject(503, "Too many connections. Try again later.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room for another connection."""
        self._open_connections.remove(self)
        super().connection_lost(exc)

    @property
    def is_authenticated(self) -> bool:
        """Whether a request with the token or the cookie is in progress."""
        return self._is_responding() and bool(self.cycle.scope["state"].get(AUTHENTICATED))

    def abort(self) -> None:
        """Close the connection without sending what is still to be sent."""
        self.transport.abort()

    def pause_writing(self) -> None:
        """Start the time for the client to read."""
        super().pause_writing()
        self._write_deadline = self.loop.time() + self._limits.write_timeout_s

    def resume_writing(self) -> None:
        """Stop the time for the client to read."""
        super().resume_writing()
        self._write_deadline = inf

    # Requests

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, and reject a request with too many headers."""
        if self._receiving is Receiving.NOTHING and not self._is_responding():
            self._expect(Receiving.HEADER)
        self._is_unused = False
        self._header_bytes += len(data)
        super().data_received(data)
        if self._header_bytes > MAX_HEADER_BYTES and not self.transport.is_closing():
            self._reject(431, f"The headers are larger than {MAX_HEADER_BYTES} bytes.")

    def on_message_begin(self) -> None:
        """Start the time for the headers, unless it has started."""
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("Too many pipelined requests.")
        super().on_message_begin()
        if self._receiving is not Receiving.HEADER:
            self._expect(Receiving.HEADER)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header without the spaces after its value; the parser removes only those before it."""
        super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        """Start the time for the body."""
        super().on_headers_complete()
        self._expect(Receiving.BODY)

    def on_body(self, body: bytes) -> None:
        """Count a part of the body."""
        super().on_body(body)
        self._header_bytes = max(0, self._header_bytes - len(body) - CHUNK_FRAME_BYTES)
        self._body_bytes += len(body)
        if self.cycle.response_complete:
            self._unread_bytes += len(body)
            if self._unread_bytes > MAX_UNREAD_BYTES:
                self.abort()

    def on_message_complete(self) -> None:
        """Stop the time for the request."""
        super().on_message_complete()
        self._expect(Receiving.NOTHING)

    def send_400_response(self, msg: str) -> None:
        """Send a problem with status 400 and close the connection."""
        self._send_problem(400, msg)

    # Deadlines

    def check_deadlines(self, now: float) -> None:
        """Close the connection if the client takes too long to read or to send."""
        if now >= self._write_deadline:
            self.abort()
        elif now >= self._deadline:
            self._extend_deadline(now)
            if now >= self._deadline:
                self._time_out()

    def _expect(self, receiving: Receiving) -> None:
        self._receiving, self._started_at = receiving, self.loop.time()
        self._header_bytes = self._body_bytes = self._unread_bytes = 0
        seconds = {
            Receiving.HEADER: self._limits.header_timeout_s,
            Receiving.BODY: self._limits.body_timeout_s,
            Receiving.NOTHING: inf,
        }
        self._deadline = self._started_at + seconds[receiving]

    def _extend_deadline(self, now: float) -> None:
        """Extend the deadline if the server itself does not read, or the body arrives fast enough."""
        is_body = self._receiving is Receiving.BODY
        if self.flow.read_paused or (self._is_responding() and not is_body):
            self._started_at, self._deadline = now, now + self._limits.header_timeout_s
        elif is_body and self._is_responding():
            seconds = self._limits.body_timeout_s + self._body_bytes / self._limits.min_body_bytes_per_s
            self._deadline = self._started_at + seconds

    def _time_out(self) -> None:
        if self._is_unused:
            self.transport.close()  # a client that sent nothing expects no response
        else:
            part = "headers" if self._receiving is Receiving.HEADER else "body"
            self._reject(408, f"The {part} of the request did not arrive in time.")

    def _is_responding(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _reject(self, status: int, detail: str) -> None:
        """Send a problem instead of the response, or abort if a response has been started."""
        if self._receiving is Receiving.BODY and self._is_responding() and not self.cycle.response_started:
            self.cycle.disconnected = True  # the app gets no body and sends nothing
            self.cycle.message_event.set()
            self._send_problem(status, detail)
        elif self._receiving is Receiving.HEADER and not self._is_responding():
            self._send_problem(status, detail)
        else:
            self.abort()

    def _send_problem(self, status: int, detail: str) -> None:
        title = HTTPStatus(status).phrase
        body = orjson.dumps({"type": "about:blank", "title": title, "status": status, "detail": detail})
        head = f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\nconnection: close"
        self.transport.write(f"HTTP/1.1 {status} {title}\r\n{head}\r\n\r\n".encode() + body)
        self.transport.close()
