"""Whether a file or directory has moved since it was last looked at."""

import os
from pathlib import Path

Stamp = tuple[int, int, int] | None
"""Modification time, size, inode; None where there is nothing."""


def stamp(path: Path) -> Stamp:
    """Return what changes when the file is written or replaced, or the directory gains or loses a file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - asked before every call, and twice as fast as Path.stat
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
