"""A proxy on the loopback interface before one or several processes."""

import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any

CHUNK = 65536
HEAD_END = b"\r\n\r\n"


class LoopbackProxy:
    """Forwards each request to the next port in turn, and never sends one twice.

    A port at which no one listens is left out. `token` is added for clients that cannot send one.
    """

    def __init__(self, ports: Sequence[int], token: str = "") -> None:
        added = f"Authorization: Bearer {token}\r\n" if token else ""
        self._added = f"{added}Connection: close\r\n".encode()
        self._ports, self._turns = list(ports), count()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "LoopbackProxy":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: Any) -> None:
        with client, suppress(OSError), self._connect() as server:
            server.sendall(self._changed(_read_head(client)))
            threading.Thread(target=_copy, args=(client, server), daemon=True).start()
            _copy(server, client)

    def _connect(self) -> socket.socket:
        for _ in self._ports[1:]:
            with suppress(ConnectionRefusedError):
                return self._connect_to_next()
        return self._connect_to_next()

    def _connect_to_next(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._ports[next(self._turns) % len(self._ports)]))

    def _changed(self, head: bytes) -> bytes:
        lines, _, rest = head.partition(HEAD_END)
        request, *headers = lines.split(b"\r\n")
        kept = [line for line in headers if not line.lower().startswith(b"connection:")]
        return b"\r\n".join([request, *kept]) + b"\r\n" + self._added + b"\r\n" + rest


def _read_head(client: Any) -> bytes:
    """Read until the headers of the request are complete; what follows them may be included."""
    data = b""
    while HEAD_END not in data and (part := client.recv(CHUNK)):
        data += part
    return data


def _copy(source: Any, target: Any) -> None:
    with suppress(OSError):
        while part := source.recv(CHUNK):
            target.sendall(part)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
