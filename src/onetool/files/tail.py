"""Reading the end of a file that other processes append to."""

import os
from pathlib import Path


def read_tail(file: Path, max_bytes: int) -> bytes:
    """Return the last whole lines that fit into `max_bytes`; nothing if the file does not exist."""
    try:
        with file.open("rb") as opened:
            start = max(0, opened.seek(0, os.SEEK_END) - max_bytes)
            opened.seek(start)
            content = opened.read(max_bytes)
    except FileNotFoundError:
        return b""
    return content.partition(b"\n")[2] if start else content
