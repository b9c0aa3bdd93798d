"""File access for tools, restricted to the allowed roots.

Links are resolved first, the path without links is checked, and then it is opened without following a link.
So links inside of a root work, also absolute ones, and a path that was changed after the check is an error.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from onetool.files.atomic import PRIVATE, make_private_dir
from onetool.files.open_directory import OpenDirectory, open_directory
from onetool.runtime.active_call import current_call
from onetool.settings.paths import PROJECT_DIR

from .forwarding import in_runtime

HEAD_BYTES = 4_096
PERMISSIONS = 0o777
"""What a replaced file retains: not its set-user-id and set-group-id bits."""


@in_runtime
def allowed_path(path: str) -> Path:
    """Return the absolute path with symbolic links resolved.

    To use the file, call `open_allowed`, `open_allowed_directory` or `write_allowed`: until the returned path
    is used, another process can replace a part of it with a link that leads elsewhere.

    Raises:
        PermissionError: The path is outside `fs.roots` or the roots of the caller's profile, or inside one of
            OneTool's own directories.
    """
    real = _resolve(path)
    allowed_root(path, str(real))
    return real


@in_runtime
def allowed_root(path: str, real: str) -> Path:
    """Return the root that contains a path without links. Nothing is resolved: the text decides.

    Args:
        path: The path as the caller gave it, for errors.
        real: The absolute path without links.

    Raises:
        PermissionError: The path is outside `fs.roots` or the roots of the caller's profile, or inside one of
            OneTool's own directories.
    """
    active = current_call()
    configuration, profile = active.runtime.state.configuration, active.invocation.caller.profile
    root = _check(path, Path(real), configuration.roots, configuration.paths.protected)
    if profile and (roots := configuration.settings.profiles[profile].roots) is not None:
        _check_roots(path, Path(real), [Path(root) for root in roots], f"profiles.{profile}.roots")
    return root


def open_allowed(path: str) -> BinaryIO:
    """Open a regular file for reading, subject to the checks of `allowed_path`.

    Raises:
        PermissionError: The path is not allowed, not a regular file, or was replaced during the call.
        OSError: The file cannot be opened.
    """
    real = allowed_path(path)
    with _refusing_links(path), _open_parent(path, real) as directory:
        return _open_regular(path, directory, real.name or ".")


def open_allowed_directory(path: str) -> OpenDirectory:
    """Open a directory, subject to the checks of `allowed_path`. What is done with it stays inside it.

    Raises:
        PermissionError: The path is not allowed, or was replaced during the call.
        OSError: The directory cannot be opened.
    """
    real = allowed_path(path)
    with _refusing_links(path):
        return open_directory(allowed_root(path, str(real)), real)


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
    with _refusing_links(path), _open_parent(path, real) as directory:
        old_mode = _check_old(path, directory, real.name or ".", may_replace)
        directory.replace_file(real.name, content, mode, old_mode)
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
    with _refusing_links(path), open_directory(file.parent, file.parent) as directory:
        _check_old(path, directory, file.name, may_replace)
        directory.replace_file(file.name, content)
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


def _open_parent(path: str, real: Path) -> OpenDirectory:
    root = allowed_root(path, str(real))
    return open_directory(root.parent if real == root else root, real.parent)  # a root can be a file


@contextmanager
def _refusing_links(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise PermissionError(f"{path!r} was replaced with a link while it was being opened.") from None


def _open_regular(path: str, directory: OpenDirectory, name: str) -> BinaryIO:
    descriptor = directory.open_file(name)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"{path!r} is a directory.")
        if not stat.S_ISREG(mode):
            raise PermissionError(f"{path!r} is not a regular file.")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_old(
    path: str, directory: OpenDirectory, name: str, may_replace: Callable[[bytes], bool]
) -> int | None:
    """Check that a file may be replaced. Return its permissions, or None if it does not exist."""
    try:
        file = _open_regular(path, directory, name)
    except FileNotFoundError:
        return None
    with file:
        if not may_replace(file.read(HEAD_BYTES)):
            raise FileExistsError(errno.EEXIST, "the file exists and was not written by OneTool")
        mode = os.fstat(file.fileno()).st_mode & PERMISSIONS
    try:
        os.close(directory.open_file(name, os.O_WRONLY))
    except PermissionError:
        raise PermissionError(f"{path!r} is read-only.") from None
    return mode


def _resolve(path: str) -> Path:
    try:
        real = (working_directory() / Path(path).expanduser()).resolve()
        is_loop = real.is_symlink()  # since Python 3.13, resolve() returns a symbolic link loop unchanged
    except (OSError, RuntimeError, ValueError) as error:  # a link loop, a NUL byte or an unknown ~user
        raise PermissionError(f"Cannot resolve {path!r}: {error}") from None
    if is_loop:
        raise PermissionError(f"Cannot resolve {path!r}: symbolic link loop.")
    return real


def _check_roots(path: str, real: Path, roots: Iterable[Path], setting: str) -> Path:
    roots = tuple(roots)
    for root in roots:
        if real.is_relative_to(root):
            return root
    allowed = ", ".join(map(str, roots)) or "none"
    raise PermissionError(f"{path!r} is outside the allowed directories ({setting}: {allowed}).")


def _check(path: str, real: Path, roots: Iterable[Path], protected: Iterable[Path]) -> Path:
    root = _check_roots(path, real, roots, "fs.roots")
    in_project_dir = any(part.casefold() == PROJECT_DIR for part in real.parts)
    if in_project_dir or any(real.is_relative_to(directory) for directory in protected):
        raise PermissionError(f"{path!r} is in one of OneTool's own directories, which tools cannot access.")
    return root
