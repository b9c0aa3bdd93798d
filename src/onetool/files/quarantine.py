"""A damaged file is set aside, never deleted: somebody may want to look at it."""

import secrets
from contextlib import suppress
from pathlib import Path


def set_aside(file: Path) -> Path:
    """Rename a file, so that a new one can be begun; return where it went."""
    aside = file.with_name(f"{file.name}.damaged-{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):  # another process was faster
        file.replace(aside)
    return aside
