"""Append whole lines to a file that several processes write: what was acknowledged stays, nothing is torn."""

import os
from collections.abc import Callable
from pathlib import Path

from .atomic import PRIVATE, PRIVATE_DIR, sync_directory
from .lock import locked

CHUNK = 64 * 1024


def append_lines(path: Path, lines: bytes, *, is_torn: Callable[[bytes], bool]) -> None:
    """Add lines, each with its line feed; on return they are on the disk.

    A process that was killed in the middle leaves a last line without an end. `is_torn` says whether such a
    line is one of ours, and broken: it was never acknowledged, and is cut off. Any other just gets its end.
    """
    path.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    is_new = not path.exists()
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, PRIVATE)
    try:
        with locked(descriptor):
            lines = _mend(descriptor, is_torn) + lines
            _write(descriptor, lines)
    finally:
        os.close(descriptor)
    if is_new:
        sync_directory(path.parent)


def _mend(descriptor: int, is_torn: Callable[[bytes], bool]) -> bytes:
    """Cut off a torn last line; return what the end of the file lacks otherwise."""
    size = os.fstat(descriptor).st_size
    last = _last_line(descriptor, size)
    if not last or not is_torn(last):
        return b"\n" if last else b""
    os.ftruncate(descriptor, size - len(last))
    return b""


def _last_line(descriptor: int, size: int) -> bytes:
    """What follows the last line feed: nothing, where all lines are whole."""
    found = b""
    while size > 0 and b"\n" not in found:
        start = max(size - CHUNK, 0)
        os.lseek(descriptor, start, os.SEEK_SET)
        found = os.read(descriptor, size - start) + found
        size = start
        if found.endswith(b"\n"):
            return b""
    return found[found.rfind(b"\n") + 1 :]


def _write(descriptor: int, lines: bytes) -> None:
    before = os.fstat(descriptor).st_size
    try:
        while lines:
            lines = lines[os.write(descriptor, lines) :]
        os.fsync(descriptor)
    except OSError:  # the disk is full: leave no half line
        os.ftruncate(descriptor, before)
        raise
