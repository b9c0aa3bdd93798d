"""Clients of the background process: one request as a line of JSON, one response, then free use.

It is imported by every `onetool mcp`, so it uses the standard library only.
"""

import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

from onetool.version import __version__

from .address import NotReachable, connect

MAX_LINE_BYTES = 2**20
CHUNK_BYTES = 2**16
RESPONSE_TIMEOUT_S = 30.0
STDIN, STDOUT = 0, 1


def request(
    path: Path, *, timeout_s: float = RESPONSE_TIMEOUT_S, **fields: Any
) -> tuple[socket.socket, dict[str, Any]]:
    """Send a request and return the open connection and the response.

    Raises:
        NotReachable: The process is not running, does not belong to this user, or has another version.
    """
    connection = connect(path)
    try:
        connection.settimeout(timeout_s)
        connection.sendall(json.dumps({"version": __version__, **fields}).encode() + b"\n")
        response = json.loads(_read_line(connection))
    except (OSError, ValueError) as error:
        connection.close()
        raise NotReachable(f"it does not respond ({type(error).__name__})") from error
    if problem := response.get("error"):
        connection.close()
        raise NotReachable(problem)
    connection.settimeout(None)
    return connection, response


def ask(path: Path, **fields: Any) -> dict[str, Any]:
    """Send a request, close the connection and return the response.

    Raises:
        NotReachable: The process is not running or does not belong to this user.
    """
    connection, response = request(path, **fields)
    connection.close()
    return response


def serve_stdio(connection: socket.socket) -> None:
    """Copy stdin to the connection and the connection to stdout, until one of them ends."""
    threading.Thread(target=_copy_stdin, args=(connection,), daemon=True).start()
    while chunk := _receive(connection):
        while chunk:
            chunk = chunk[os.write(STDOUT, chunk) :]


def _copy_stdin(connection: socket.socket) -> None:
    try:
        while chunk := os.read(STDIN, CHUNK_BYTES):
            connection.sendall(chunk)
        connection.shutdown(socket.SHUT_WR)  # the last responses still arrive
    except OSError:
        return


def _receive(connection: socket.socket) -> bytes:
    try:
        return connection.recv(CHUNK_BYTES)
    except OSError:
        return b""


def _read_line(connection: socket.socket) -> bytes:
    """Read one line, byte by byte: what follows belongs to the next reader."""
    line = bytearray()
    while len(line) < MAX_LINE_BYTES and (byte := connection.recv(1)) not in (b"", b"\n"):
        line += byte
    return bytes(line)
