"""Durable appends of whole lines to a file that several processes write."""

import os
from collections.abc import Callable
from pathlib import Path

from .atomic import PRIVATE, PRIVATE_DIR, sync_directory
from .lock import locked

CHUNK_BYTES = 64 * 1024


def append_lines(path: Path, lines: bytes, *, is_torn: Callable[[bytes], bool]) -> None:
    """Append lines, each with its newline. They are on disk when this function returns.

    A process that is killed while writing leaves a last line without a newline. If `is_torn` returns True for
    that line, it is incomplete and is removed; its writer never got an acknowledgment. Otherwise it gets the
    missing newline.
    """
    path.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    is_new = not path.exists()
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, PRIVATE)
    try:
        with locked(descriptor):
            lines = _repair(descriptor, is_torn) + lines
            _write(descriptor, lines)
    finally:
        os.close(descriptor)
    if is_new:
        sync_directory(path.parent)


def _repair(descriptor: int, is_torn: Callable[[bytes], bool]) -> bytes:
    """Remove a torn last line. Return the newline that an untorn last line lacks."""
    size = os.fstat(descriptor).st_size
    last = _unterminated_line(descriptor, size)
    if not last or not is_torn(last):
        return b"\n" if last else b""
    os.ftruncate(descriptor, size - len(last))
    return b""


def _unterminated_line(descriptor: int, size: int) -> bytes:
    """Return what follows the last newline."""
    tail = b""
    while size > 0 and b"\n" not in tail:
        start = max(size - CHUNK_BYTES, 0)
        os.lseek(descriptor, start, os.SEEK_SET)
        tail = os.read(descriptor, size - start) + tail
        size = start
        if tail.endswith(b"\n"):
            return b""
    return tail[tail.rfind(b"\n") + 1 :]


def _write(descriptor: int, lines: bytes) -> None:
    size_before = os.fstat(descriptor).st_size
    try:
        while lines:
            lines = lines[os.write(descriptor, lines) :]
        os.fsync(descriptor)
    except OSError:  # probably a full disk: leave no partial line
        os.ftruncate(descriptor, size_before)
        raise
