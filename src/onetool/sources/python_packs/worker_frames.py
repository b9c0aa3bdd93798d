"""Messages on the pipes of a worker process: two lengths, a header and a body."""

import asyncio
import struct
from collections.abc import Callable
from typing import Any

import orjson

LENGTHS = struct.Struct(">IQ")
MAX_HEADER_BYTES = 8 * 2**20
MAX_BODY_BYTES = 256 * 2**20
"""Larger than any result that a runtime accepts by default."""


def pack_frame(header: bytes, body: bytes = b"") -> bytes:
    """Return a message as bytes."""
    return LENGTHS.pack(len(header), len(body)) + header + body


def read_frame(read: Callable[[int], bytes]) -> tuple[bytes, bytes]:
    """Read one message from a blocking stream.

    Raises:
        EOFError: The stream has ended.
    """
    header_length, body_length = LENGTHS.unpack(_read_all(read, LENGTHS.size))
    return _read_all(read, header_length), _read_all(read, body_length)


def _read_all(read: Callable[[int], bytes], length: int) -> bytes:
    data = read(length)
    if len(data) < length:
        raise EOFError
    return data


async def receive_frame(stream: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    """Read one message of a worker.

    Raises:
        asyncio.IncompleteReadError: The worker has ended.
        ValueError: The worker sent something malformed, or too much.
    """
    header_length, body_length = LENGTHS.unpack(await stream.readexactly(LENGTHS.size))
    if header_length > MAX_HEADER_BYTES or body_length > MAX_BODY_BYTES:
        raise ValueError("it sent a message that is too large")
    header = orjson.loads(await stream.readexactly(header_length))
    if not isinstance(header, dict):
        raise ValueError("it sent a malformed message")
    return header, await stream.readexactly(body_length)
