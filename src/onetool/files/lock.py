"""One process at a time on an open file; the system lets go when the process dies."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 10.0
FIRST_WAIT, LONGEST_WAIT = 0.0005, 0.02

if sys.platform == "win32":  # pragma: no cover - the same promise by other means
    import msvcrt

    FAR = 2**62
    """Locked far behind the end: Windows would not let others read a byte that is locked."""

    def _try(descriptor: int) -> None:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(descriptor: int, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the file for the block, against other processes and other openings of it in this one.

    Raises TimeoutError when somebody else holds it for longer than `patience` seconds.
    """
    end, wait = time.monotonic() + patience, FIRST_WAIT
    while True:
        try:
            _try(descriptor)
            break
        except OSError:
            if time.monotonic() > end:
                raise TimeoutError(f"somebody else has held the file for {patience:g} s") from None
            time.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)
    try:
        yield
    finally:
        _release(descriptor)
