"""Atomic, durable file writes."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

PRIVATE = 0o600
PRIVATE_DIR = 0o700


def make_private_dir(path: Path) -> None:
    """Create a directory and its missing parents, all of them accessible only to the user."""
    try:
        path.mkdir(mode=PRIVATE_DIR, exist_ok=True)
    except FileNotFoundError:
        make_private_dir(path.parent)
        path.mkdir(mode=PRIVATE_DIR, exist_ok=True)


def write_atomic(
    path: Path, content: bytes, *, mode: int = PRIVATE, make_parents: bool = True, durable: bool = True
) -> None:
    """Replace the content of a file. A reader sees either the old or the new content, never a part.

    durable: wait until the content is on disk. Not needed for what can be rebuilt from other files.
    """
    if make_parents:
        make_private_dir(path.parent)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        create_file(temporary, content, mode, durable)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_directory(path.parent)


def write_new(path: Path, content: bytes, *, mode: int = PRIVATE) -> bool:
    """Create a file with this content, atomically. Return False if the file exists."""
    make_private_dir(path.parent)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        create_file(temporary, content, mode)
        os.link(temporary, path)  # atomic, and fails if the file exists
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)
    return True


def create_file(
    path: str | Path,
    content: bytes,
    mode: int = PRIVATE,
    durable: bool = True,
    *,
    dir_fd: int | None = None,
    exact_mode: int | None = None,
) -> None:
    """Create a file. Its name is durable after `sync_directory`.

    Args:
        path: The new file.
        content: Its content.
        mode: Its permissions, reduced by the umask.
        durable: Wait until the content is on disk.
        dir_fd: The directory that a relative path belongs to.
        exact_mode: Permissions that the umask does not reduce, in place of `mode`.

    Raises:
        FileExistsError: The file exists.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, mode if exact_mode is None else PRIVATE, dir_fd=dir_fd)
    try:
        with naming_file(path):
            if exact_mode is not None and sys.platform != "win32":
                os.fchmod(descriptor, exact_mode)
            while content:  # rarely more than once
                content = content[os.write(descriptor, content) :]
            if durable:
                os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_private(path: Path) -> BinaryIO:
    """Empty a file and open it for writing. Only the user can read it, also if others could before."""
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, PRIVATE), "wb")


@contextmanager
def naming_file(path: str | Path) -> Iterator[None]:
    """Add the path to errors of operations on an open file, whose messages do not have it."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def sync_directory(path: str | Path, *, dir_fd: int | None = None) -> None:
    """Make created, renamed and deleted names in a directory durable.

    dir_fd: the directory that a relative path belongs to.
    """
    if os.name == "nt":  # pragma: no cover - Windows cannot open a directory and does not need this
        return
    descriptor = os.open(path, os.O_RDONLY, dir_fd=dir_fd)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
