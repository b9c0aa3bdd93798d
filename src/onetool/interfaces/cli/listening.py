"""Sockets to listen on."""

import os
import socket

import click


def bind(host: str, port: int, *, option: str = "--port") -> socket.socket:
    """Bind a TCP socket and exit if that fails.

    The protocol is explicit because asyncio sets TCP_NODELAY only then; without it, small responses are
    delayed by 40 ms.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name != "nt":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        click.echo(
            f"Error: Cannot listen on {host}:{port}: {error.strerror}. Choose another {option}.", err=True
        )
        raise SystemExit(1) from None
    return sock
