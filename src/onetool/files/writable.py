"""A check whether files can be stored in a directory."""

import os
from pathlib import Path
from tempfile import TemporaryFile

from .atomic import make_private_dir

PROBE_BYTES = 64 * 1024
"""SQLite needs this much for a transaction."""


def check_writable(directory: Path) -> str:
    """Write a small file that has no name, and return why that fails; an empty string if it does not."""
    try:
        make_private_dir(directory)
        with TemporaryFile(dir=directory, buffering=0) as probe:
            probe.write(bytes(PROBE_BYTES))
            os.fsync(probe.fileno())
            size = os.fstat(probe.fileno()).st_size
    except OSError as error:
        return error.strerror or str(error)
    return "" if size == PROBE_BYTES else "No space left on device"
