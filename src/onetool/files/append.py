"""Durable appends of whole lines to a file that several processes write."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from .atomic import PRIVATE, make_private_dir, sync_directory
from .lock import locked

CHUNK_BYTES = 64 * 1024


def append_lines(path: Path, lines: bytes, *, is_torn: Callable[[bytes], bool]) -> None:
    """Append lines, each with its newline. They are on disk when this function returns.

    A process that is killed while writing leaves a last line without a newline. If `is_torn` returns True for
    that line, it is incomplete and is removed; its writer never got an acknowledgment. Otherwise it gets the
    missing newline.
    """
    append_files({path: lines}, is_torn=is_torn)


def append_files(lines: Mapping[Path, bytes], *, is_torn: Callable[[bytes], bool]) -> None:
    """Append lines to several files like `append_lines`. If one of them fails, none is changed."""
    new = [path for path in lines if not path.exists()]
    sizes: dict[int, int] = {}
    with ExitStack() as files:
        try:
            for path in sorted(lines):  # in the same order in every process, so that locks cannot deadlock
                descriptor = files.enter_context(_open_locked(path))
                missing_newline = _repair(descriptor, is_torn)
                sizes[descriptor] = os.fstat(descriptor).st_size
                _write(descriptor, missing_newline + lines[path])
        except OSError:  # probably a full disk
            for descriptor, size in sizes.items():
                os.ftruncate(descriptor, size)
            raise
    for directory in {path.parent for path in new}:
        sync_directory(directory)


def committed_size(descriptor: int) -> int:
    """Return the size of an open file without lines that are being appended and may be removed again.

    The file must be open for writing, because some network file systems lock no other files.
    """
    with locked(descriptor):
        return os.fstat(descriptor).st_size


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
