"""Exclusive locks on open files. The operating system releases them when the process ends."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TIMEOUT_S = 10.0
MIN_WAIT_S, MAX_WAIT_S = 0.0005, 0.02

if sys.platform == "win32":  # pragma: no cover - the same guarantee with other system calls
    import msvcrt

    LOCK_OFFSET = 2**62
    """Position of the locked byte, far behind the end: Windows blocks reads of a locked byte."""

    def _try_lock(descriptor: int) -> None:
        os.lseek(descriptor, LOCK_OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, LOCK_OFFSET, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

    _try_lock_shared = _try_lock  # Windows has none here: two checks at the same time may report a lock

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _try_lock_shared(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


@contextmanager
def locked(descriptor: int, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Lock an open file for the block, against other processes and other descriptors in this process.

    Raises:
        TimeoutError: The lock was not released within `timeout_s` seconds.
    """
    end, wait_s = time.monotonic() + timeout_s, MIN_WAIT_S
    while True:
        try:
            _try_lock(descriptor)
            break
        except OSError:
            if time.monotonic() > end:
                raise TimeoutError(f"the file has been locked for {timeout_s:g} s") from None
            time.sleep(wait_s)
            wait_s = min(wait_s * 2, MAX_WAIT_S)
    try:
        yield
    finally:
        _unlock(descriptor)


def is_locked(descriptor: int) -> bool:
    """Return whether another descriptor, in any process, holds the lock of an open file."""
    try:
        _try_lock_shared(descriptor)
    except OSError:
        return True
    _unlock(descriptor)
    return False


def is_same_file(descriptor: int, path: str | Path) -> bool:
    """Return whether a path still names an open file. Another process may have deleted it."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))  # noqa: PTH116
    except FileNotFoundError:
        return False
