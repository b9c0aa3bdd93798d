"""Fingerprints that show whether a file or directory has changed."""

import os

Fingerprint = tuple[int, int, int] | None
"""Modification time, size and inode; None if the file does not exist."""


def fingerprint(path: str) -> Fingerprint:
    """Return a value that changes when a file is written or replaced, or a directory gains or loses a file.

    Takes a string because it runs before every call, and creating a Path would double its cost.
    """
    try:
        return status_fingerprint(os.stat(path))  # noqa: PTH116 - see above
    except OSError:
        return None


def status_fingerprint(status: os.stat_result) -> tuple[int, int, int]:
    """Return the fingerprint of a file whose status is known, for example that of an open file."""
    return status.st_mtime_ns, status.st_size, status.st_ino
