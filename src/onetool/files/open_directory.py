"""Directories that stay open: a path is used once, to open them, and no link is followed on the way.

A process that exchanges a part of the path with a link cannot redirect what is read, created or renamed.
"""

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from .atomic import PRIVATE, create_file, sync_directory

HAS_DESCRIPTORS = os.open in os.supports_dir_fd
"""False on Windows, where names are used with the path of the directory."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""Opening a named pipe must not wait for its other end."""
DIRECTORY = getattr(os, "O_DIRECTORY", 0) | NO_LINK | getattr(os, "O_PATH", 0)
"""With O_PATH, directories that the user may not list can be passed."""
READ = os.O_RDONLY | NO_LINK | NO_WAIT | getattr(os, "O_BINARY", 0)


class DirectoryEntry(NamedTuple):
    """A name in a directory. Links are not followed.

    Attributes:
        name: The last part of its path.
        kind: `file`, `directory`, `link` or `other`.
        size: In bytes, for files.
    """

    name: str
    kind: str
    size: int = 0


class OpenDirectory:
    """A directory, used by its descriptor. The names in it are single parts of a path."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path, self._descriptor = path, descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def open_file(self, name: str, flags: int = READ) -> int:
        """Return a descriptor of an existing file, which may be a directory or a device.

        Raises:
            OSError: The file cannot be opened. ELOOP: It is a link.
        """
        with self._naming(name):
            return os.open(self._at(name), flags | NO_LINK | NO_WAIT, dir_fd=self._descriptor)

    def entries(self) -> list[DirectoryEntry]:
        """Return what the directory contains, by name.

        Raises:
            OSError: The directory cannot be listed.
        """
        if self._descriptor is None:
            with os.scandir(self.path) as children:
                return sorted(_describe(children))
        with self._naming("."):
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._descriptor)
            try:
                with os.scandir(descriptor) as children:
                    return sorted(_describe(children))
            finally:
                os.close(descriptor)

    def replace_file(
        self, name: str, content: bytes, mode: int = PRIVATE, exact_mode: int | None = None
    ) -> None:
        """Replace the content of a file, atomically and durably. A link of this name is not followed.

        Args:
            name: The file to create or replace.
            content: The new content.
            mode: Permissions, reduced by the umask.
            exact_mode: Permissions that the umask does not reduce, in place of `mode`.

        Raises:
            OSError: The file cannot be written.
        """
        temporary, where = f".{name}.{secrets.token_hex(6)}", self._descriptor
        with self._naming(name):
            try:
                create_file(self._at(temporary), content, mode, dir_fd=where, exact_mode=exact_mode)
                os.replace(self._at(temporary), self._at(name), src_dir_fd=where, dst_dir_fd=where)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(self._at(temporary), dir_fd=where)
                raise
            sync_directory(self._at("."), dir_fd=where)

    def _at(self, name: str) -> str:
        return name if self._descriptor is not None else str(self.path / name)

    @contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Add the whole path to errors, which otherwise have its last part only."""
        try:
            yield
        except OSError as error:
            error.filename, error.filename2 = str(self.path / name), None
            raise


def open_directory(root: Path, path: Path) -> OpenDirectory:
    """Open a directory that is the root or below it.

    Raises:
        OSError: It cannot be opened, or a part of the root or of the path is a link (ELOOP or ENOTDIR).
    """
    if not HAS_DESCRIPTORS:  # pragma: no cover - Windows
        return OpenDirectory(path, None)
    descriptor = os.open(root.anchor, DIRECTORY)
    try:
        for parts in (root.parts[1:], path.relative_to(root).parts):
            above, descriptor = descriptor, _open_below(descriptor, parts)
            os.close(above)
    except BaseException as error:
        os.close(descriptor)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise
    return OpenDirectory(path, descriptor)


def _open_below(directory: int, parts: Sequence[str]) -> int:
    """Return a descriptor of a directory below another one, or of the same one."""
    if sys.platform == "linux":
        from onetool.linux import openat2  # imported when it is needed: ctypes takes long

        if openat2.is_available():
            return openat2.open_beneath(directory, "/".join(parts) or ".", DIRECTORY)
    below = os.open(".", DIRECTORY, dir_fd=directory)
    try:
        for part in parts:
            above, below = below, os.open(part, DIRECTORY, dir_fd=below)
            os.close(above)
    except BaseException:
        os.close(below)
        raise
    return below


def _describe(children: Iterator["os.DirEntry[str]"]) -> Iterator[DirectoryEntry]:
    for child in children:
        kind = _kind(child)
        with suppress(FileNotFoundError):  # it was deleted since
            size = child.stat(follow_symlinks=False).st_size if kind == "file" else 0
            yield DirectoryEntry(child.name, kind, size)


def _kind(child: "os.DirEntry[str]") -> str:
    if child.is_symlink():
        return "link"
    if child.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if child.is_file(follow_symlinks=False) else "other"
