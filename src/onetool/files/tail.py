"""The end of a file that others append to."""

import os
from pathlib import Path


def read_tail(file: Path, most_bytes: int) -> bytes:
    """Return the last whole lines, of at most so many bytes together; nothing where there is no file."""
    try:
        with file.open("rb") as opened:
            start = max(0, opened.seek(0, os.SEEK_END) - most_bytes)
            opened.seek(start)
            content = opened.read(most_bytes)
    except FileNotFoundError:
        return b""
    return content.partition(b"\n")[2] if start else content
