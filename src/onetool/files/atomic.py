"""Write a file whole or not at all, also when the power goes."""

import os
import secrets
from pathlib import Path

PRIVATE = 0o600
PRIVATE_DIR = 0o700


def write_atomic(
    path: Path, content: bytes, *, mode: int = PRIVATE, make_parents: bool = True, durable: bool = True
) -> None:
    """Replace the file by `content`; a reader sees the old or the new one, never a part.

    durable: wait for the disk; what can be made again from other files need not.
    """
    if make_parents:
        path.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        _write_new(temporary, content, mode, durable)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(path.parent)


def write_new(path: Path, content: bytes, *, mode: int = PRIVATE) -> bool:
    """Write the file only if there is none, whole or not at all; return whether it was written."""
    path.parent.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        _write_new(temporary, content, mode)
        os.link(temporary, path)  # fails where there is a file, and never shows a part of one
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)
    return True


def _write_new(path: Path, content: bytes, mode: int, durable: bool = True) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Make the names in a directory last."""
    if os.name == "nt":  # pragma: no cover - Windows cannot open a directory, and needs no sync of it
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
