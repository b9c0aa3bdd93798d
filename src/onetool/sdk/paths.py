"""Files that a model may name: only those under the allowed roots, wherever links lead."""

import errno
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from onetool.files.atomic import PRIVATE, write_atomic
from onetool.runtime import current
from onetool.settings.places import PROJECT_DIR

HEAD = 4_096


def allowed_path(path: str) -> Path:
    """Return the real path that `path` means, all links followed.

    Raises PermissionError outside of `fs.roots`, and inside OneTool's own directories.
    """
    configuration = current().runtime.configuration
    real = _real(path)
    _check(path, real, configuration.roots, configuration.places.protected)
    return real


def open_allowed(path: str) -> BinaryIO:
    """Open a regular file for reading, if `allowed_path` lets it pass and it is still the same file then.

    Raises PermissionError, or what opening a file raises.
    """
    # O_NONBLOCK: opening a named pipe must not wait for a writer
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    descriptor = os.open(allowed_path(path), flags)
    try:
        _check_opened(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def write_allowed(
    path: str, content: bytes, *, may_replace: Callable[[bytes], bool], mode: int = PRIVATE
) -> Path:
    """Write a file whole, if `allowed_path` lets it pass; return where it is.

    may_replace: told how an existing file begins, says whether that may go.
    mode: who may open a new file, less what the umask takes; one that is replaced keeps its own.
    Raises PermissionError, or what writing a file raises.
    """
    real = allowed_path(path)
    kept = None
    if real.parent.is_dir() and real.exists():
        with open_allowed(path) as file:
            if not may_replace(file.read(HEAD)):
                raise FileExistsError(errno.EEXIST, "a file is there that OneTool has not written")
            kept = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if not os.access(real, os.W_OK):
            raise PermissionError(f"{path!r} is read-only.")
    write_atomic(real, content, mode=mode if kept is None else PRIVATE, make_parents=False)
    if kept is not None:
        real.chmod(kept)
    return real


def working_directory() -> Path:
    """Return the directory in which relative paths start."""
    return current().runtime.configuration.places.cwd


def _check_opened(path: str, opened: os.stat_result) -> None:
    if stat.S_ISDIR(opened.st_mode):
        raise IsADirectoryError(f"{path!r} is a directory.")
    if not stat.S_ISREG(opened.st_mode):
        raise PermissionError(f"{path!r} is not a regular file.")
    if not os.path.samestat(opened, allowed_path(path).stat()):
        raise PermissionError(f"{path!r} has been replaced while it was opened.")


def _real(path: str) -> Path:
    try:
        real = (working_directory() / Path(path).expanduser()).resolve()
        is_circle = real.is_symlink()  # from Python 3.13 on, links in a circle are given back as they are
    except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a NUL, a user who is not there
        raise PermissionError(f"{path!r} leads nowhere: {error}") from None
    if is_circle:
        raise PermissionError(f"{path!r} leads nowhere: its links go round in a circle.")
    return real


def _check(path: str, real: Path, roots: Iterable[Path], protected: Iterable[Path]) -> None:
    roots = tuple(roots)
    if not any(real.is_relative_to(root) for root in roots):
        where = ", ".join(map(str, roots)) or "none"
        raise PermissionError(f"{path!r} is outside of the allowed directories (fs.roots: {where}).")
    is_ours = any(part.casefold() == PROJECT_DIR for part in real.parts)
    if is_ours or any(real.is_relative_to(own) for own in protected):
        raise PermissionError(f"{path!r} is OneTool's own and not for tools.")
