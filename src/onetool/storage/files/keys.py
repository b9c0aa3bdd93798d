"""Secret keys in files that all processes of a user share."""

import os
import secrets
import stat
from pathlib import Path

from onetool.domain.errors import StoreUnavailable
from onetool.files.atomic import write_new

KEY_BYTES = 32


def read_or_create_key(path: Path) -> bytes:
    """Return the key in a file. If there is no file, create one with a random key.

    Processes that call this at the same time get the same key. Call it on a thread.

    Raises:
        StoreUnavailable: The file has the wrong length, or other users may access it.
    """
    try:
        return _read(path)
    except FileNotFoundError:
        write_new(path, secrets.token_bytes(KEY_BYTES))
        return _read(path)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if os.name != "nt" and mode & 0o077:
            raise StoreUnavailable(
                f"{path} has mode {mode:04o}: other users may know the key. "
                "Delete the file, and OneTool creates a new key."
            )
        key = file.read(KEY_BYTES + 1)
    if len(key) != KEY_BYTES:
        size = f"more than {KEY_BYTES}" if len(key) > KEY_BYTES else str(len(key))
        raise StoreUnavailable(
            f"{path} has {size} bytes instead of {KEY_BYTES}. Delete the file, and OneTool creates a new key."
        )
    return key
