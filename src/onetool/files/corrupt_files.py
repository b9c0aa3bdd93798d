"""Corrupt files are renamed, never deleted, so that the user can inspect them."""

import secrets
from contextlib import suppress
from pathlib import Path


def move_corrupt_file(file: Path) -> Path:
    """Rename a corrupt file to make room for a new one. Return its new path."""
    target = file.with_name(f"{file.name}.corrupt-{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):  # another process has already renamed it
        file.replace(target)
    return target
