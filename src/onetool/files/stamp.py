"""Whether a file or directory has moved since it was last looked at."""

import os

Stamp = tuple[int, int, int] | None
"""Modification time, size, inode; None where there is nothing."""


def stamp(path: str) -> Stamp:
    """Return what changes when the file is written or replaced, or the directory gains or loses a file.

    Takes the path as text: it is asked before every call, and a Path costs as much again as the question.
    """
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
