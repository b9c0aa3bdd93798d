"""Fingerprints that show whether a file or directory has changed."""

import os

Fingerprint = tuple[int, int, int] | None
"""Modification time, size and inode; None if the file does not exist."""


def fingerprint(path: str) -> Fingerprint:
    """Return a value that changes when a file is written or replaced, or a directory gains or loses a file.

    Takes a string because it runs before every call, and creating a Path would double its cost.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - see above
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
