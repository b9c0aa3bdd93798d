"""Images for tests."""

import base64
import struct
import zlib
from typing import Any


def make_png(size: int = 8, color: bytes = b"\xff\x00\x00") -> bytes:
    """Return a square in one color."""
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\x00" + color * size) * size)
    chunks = [(b"IHDR", header), (b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = make_png()


def encoded(data: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(data).decode()


def image_block(data: bytes = PNG, mime_type: str = "image/png", **fields: Any) -> dict[str, Any]:
    """Return a content block with an image."""
    return {"type": "image", "data": encoded(data), "mimeType": mime_type, **fields}
