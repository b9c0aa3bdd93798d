"""File access for tools, restricted to the allowed roots after resolving symbolic links."""

import errno
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from onetool.files.atomic import PRIVATE, make_private_dir, write_atomic
from onetool.runtime.active_call import current_call
from onetool.settings.paths import PROJECT_DIR

from .forwarding import in_runtime

HEAD_BYTES = 4_096


@in_runtime
def allowed_path(path: str) -> Path:
    """Return the absolute path with symbolic links resolved.

    Raises:
        PermissionError: The path is outside `fs.roots` or the roots of the caller's profile, or inside one of
            OneTool's own directories.
    """
    active = current_call()
    configuration, profile = active.runtime.state.configuration, active.invocation.caller.profile
    real = _resolve(path)
    _check(path, real, configuration.roots, configuration.paths.protected)
    if profile and (roots := configuration.settings.profiles[profile].roots) is not None:
        _check_roots(path, real, [Path(root) for root in roots], f"profiles.{profile}.roots")
    return real


def open_allowed(path: str) -> BinaryIO:
    """Open a regular file for reading, subject to the checks of `allowed_path`.

    Raises:
        PermissionError: The path is not allowed, not a regular file, or was replaced during the call.
        OSError: The file cannot be opened.
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
    """Write a file atomically, subject to the checks of `allowed_path`, and return its path.

    Args:
        path: The file to create or replace. Its directory must exist.
        content: The new content.
        may_replace: Called with the first bytes of an existing file; returns whether to replace it.
        mode: Permissions of a new file, reduced by the umask. A replaced file retains its permissions.

    Raises:
        PermissionError: The path is not allowed, or the existing file is read-only.
        FileExistsError: `may_replace` returned False.
        OSError: The file cannot be written.
    """
    real = allowed_path(path)
    old_mode = None
    if real.parent.is_dir() and real.exists():
        with open_allowed(path) as file:
            _check_replaceable(file, may_replace)
            old_mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if not os.access(real, os.W_OK):
            raise PermissionError(f"{path!r} is read-only.")
    write_atomic(real, content, mode=mode if old_mode is None else PRIVATE, make_parents=False)
    if old_mode is not None:
        real.chmod(old_mode)
    return real


def write_report(path: str, content: bytes, *, may_replace: Callable[[bytes], bool]) -> Path:
    """Write a file like `write_allowed`, and return its path.

    If the working directory is not allowed, a plain file name is written to the reports directory instead.

    Raises:
        PermissionError: The path is not allowed.
        FileExistsError: `may_replace` returned False.
        OSError: The file cannot be written.
    """
    if Path(path).name != path or _is_allowed("."):
        return write_allowed(path, content, may_replace=may_replace)
    reports = reports_directory()
    make_private_dir(reports)
    file = _resolve(str(reports / path))
    if file.parent != reports.resolve():
        raise PermissionError(f"{path!r} is outside {reports}.")
    if file.exists():
        with file.open("rb") as old:
            _check_replaceable(old, may_replace)
    write_atomic(file, content)
    return file


@in_runtime
def working_directory() -> Path:
    """Return the directory that relative paths are resolved against."""
    return current_call().runtime.state.configuration.paths.cwd


@in_runtime
def reports_directory() -> Path:
    """Return the directory of reports that cannot be written to the working directory."""
    return current_call().runtime.state.configuration.paths.reports


def _is_allowed(path: str) -> bool:
    try:
        allowed_path(path)
    except PermissionError:
        return False
    return True


def _check_replaceable(file: BinaryIO, may_replace: Callable[[bytes], bool]) -> None:
    if not may_replace(file.read(HEAD_BYTES)):
        raise FileExistsError(errno.EEXIST, "the file exists and was not written by OneTool")


def _check_opened(path: str, opened: os.stat_result) -> None:
    if stat.S_ISDIR(opened.st_mode):
        raise IsADirectoryError(f"{path!r} is a directory.")
    if not stat.S_ISREG(opened.st_mode):
        raise PermissionError(f"{path!r} is not a regular file.")
    if not os.path.samestat(opened, allowed_path(path).stat()):
        raise PermissionError(f"{path!r} was replaced while it was being opened.")


def _resolve(path: str) -> Path:
    try:
        real = (working_directory() / Path(path).expanduser()).resolve()
        is_loop = real.is_symlink()  # since Python 3.13, resolve() returns a symbolic link loop unchanged
    except (OSError, RuntimeError, ValueError) as error:  # a link loop, a NUL byte or an unknown ~user
        raise PermissionError(f"Cannot resolve {path!r}: {error}") from None
    if is_loop:
        raise PermissionError(f"Cannot resolve {path!r}: symbolic link loop.")
    return real


def _check_roots(path: str, real: Path, roots: Iterable[Path], setting: str) -> None:
    roots = tuple(roots)
    if not any(real.is_relative_to(root) for root in roots):
        allowed = ", ".join(map(str, roots)) or "none"
        raise PermissionError(f"{path!r} is outside the allowed directories ({setting}: {allowed}).")


def _check(path: str, real: Path, roots: Iterable[Path], protected: Iterable[Path]) -> None:
    _check_roots(path, real, roots, "fs.roots")
    in_project_dir = any(part.casefold() == PROJECT_DIR for part in real.parts)
    if in_project_dir or any(real.is_relative_to(directory) for directory in protected):
        raise PermissionError(f"{path!r} is in one of OneTool's own directories, which tools cannot access.")
