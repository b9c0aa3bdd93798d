"""A proxy on the loopback interface before one or several processes."""

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Self

CHUNK = 65536
HEAD_END = b"\r\n\r\n"


class LoopbackListener:
    """Accepts connections, and serves each one on a thread."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def serve(self, client: socket.socket) -> None:
        """Serve a connection."""
        raise NotImplementedError

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            self.serve(client)


class LoopbackProxy(LoopbackListener):
    """Forwards each request to the next port in turn, and never sends one twice.

    A port at which no one listens is left out. `token` is added for clients that cannot send one.
    """

    def __init__(self, ports: Sequence[int], token: str = "") -> None:
        added = f"Authorization: Bearer {token}\r\n" if token else ""
        self._added = f"{added}Connection: close\r\n".encode()
        self._ports, self._turns = list(ports), count()
        super().__init__()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def replace_port(self, old: int, new: int) -> None:
        """Forward requests to another port in place of one."""
        self._ports[self._ports.index(old)] = new

    def serve(self, client: socket.socket) -> None:
        """Forward the request of a connection."""
        with self._connect() as server:
            server.sendall(self._changed(_read_head(client)))
            threading.Thread(target=copy, args=(client, server), daemon=True).start()
            copy(server, client)

    def _connect(self) -> socket.socket:
        """Connect to the next port, or to the first one after it at which a process listens."""
        start, ports = next(self._turns), list(self._ports)
        *first, last = (ports[(start + offset) % len(ports)] for offset in range(len(ports)))
        for port in first:
            with suppress(ConnectionRefusedError):
                return socket.create_connection(("127.0.0.1", port))
        return socket.create_connection(("127.0.0.1", last))

    def _changed(self, head: bytes) -> bytes:
        lines, _, rest = head.partition(HEAD_END)
        request, *headers = lines.split(b"\r\n")
        kept = [line for line in headers if not line.lower().startswith(b"connection:")]
        return b"\r\n".join([request, *kept]) + b"\r\n" + self._added + b"\r\n" + rest


def _read_head(client: socket.socket) -> bytes:
    """Read until the headers of the request are complete; what follows them may be included."""
    data = b""
    while HEAD_END not in data and (part := client.recv(CHUNK)):
        data += part
    return data


def copy(source: socket.socket, target: socket.socket) -> None:
    """Forward all bytes, then end both connections."""
    with suppress(OSError):
        while part := source.recv(CHUNK):
            target.sendall(part)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
