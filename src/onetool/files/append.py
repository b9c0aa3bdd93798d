"""Durable appends of whole lines to a file that several processes write."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .atomic import PRIVATE, make_private_dir, naming_file, sync_directory
from .lock import locked

CHUNK_BYTES = 64 * 1024


def append_lines(path: Path, lines: bytes, *, is_torn: Callable[[bytes], bool]) -> None:
    """Append lines, each with its newline. They are on disk when this function returns.

    A process that is killed while writing leaves a last line without a newline. If `is_torn` returns True for
    that line, it is incomplete and is removed; its writer never got an acknowledgment. Otherwise it gets the
    missing newline.
    """
    is_new = not path.exists()
    with _open_locked(path) as descriptor:
        missing_newline = _repair(descriptor, is_torn)
        size = os.fstat(descriptor).st_size
        try:
            with naming_file(path):
                _write(descriptor, missing_newline + lines)
        except OSError:  # probably a full disk
            os.ftruncate(descriptor, size)
            raise
    if is_new:
        sync_directory(path.parent)


@contextmanager
def _open_locked(path: Path) -> Iterator[int]:
    make_private_dir(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), PRIVATE)
    try:
        with locked(descriptor):
            yield descriptor
    finally:
        os.close(descriptor)


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
    while lines:
        lines = lines[os.write(descriptor, lines) :]
    os.fsync(descriptor)
