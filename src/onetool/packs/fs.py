"""fs: list and read files under the allowed directories (`fs.roots` in the settings)."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onetool.sdk import allowed_path, open_allowed, tool

pack = "fs"

MAX_ENTRIES = 20_000
MAX_BYTES = 64 * 2**20


@tool(parallel=True)
def list_dir(path: str, recursive: bool = False, maxDepth: int = 4) -> list[dict[str, Any]]:  # noqa: N803
    """List a directory. Symbolic links are listed but not followed.

    Args:
        path: The directory, absolute or relative to the working directory.
        recursive: Also list subdirectories.
        maxDepth: Maximum depth of a recursive listing; direct children have depth 1.

    Returns:
        Entries by name: path (relative to the directory), type (file, directory, link, other), size of files.

    Example:
        fs.list_dir(path="src", recursive=True)
    """
    top = allowed_path(path)
    entries: list[dict[str, Any]] = []
    for entry in _entries(top, "", maxDepth if recursive else 1):
        entries.append(entry)
        if len(entries) > MAX_ENTRIES:
            raise ValueError(
                f"{path!r} has more than {MAX_ENTRIES} entries. List a subdirectory, or reduce maxDepth."
            )
    return entries


@tool(parallel=True)
def read_file(path: str, maxBytes: int = 204800) -> str:  # noqa: N803
    """Read a text file.

    Args:
        path: The file, absolute or relative to the working directory.
        maxBytes: Maximum file size in bytes; larger files are rejected.

    Returns:
        The text of the file.

    Example:
        fs.read_file(path="README.md")
    """
    limit = min(maxBytes, MAX_BYTES)
    with open_allowed(path) as file:
        content = file.read(max(0, limit) + 1)
    if len(content) > limit:
        hint = "Increase maxBytes to read it." if limit < MAX_BYTES else "Larger files cannot be read."
        raise ValueError(f"{path!r} is larger than maxBytes ({limit}). {hint}")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path!r} is not UTF-8 text (byte {error.start}).") from None


def _entries(directory: Path, prefix: str, depth: int) -> Iterator[dict[str, Any]]:
    if depth < 1:
        return
    with os.scandir(directory) as scan:
        children = sorted(scan, key=lambda child: child.name)
    for child in children:
        entry: dict[str, Any] = {"path": prefix + child.name, "type": _kind(child)}
        if entry["type"] == "file":
            entry["size"] = child.stat(follow_symlinks=False).st_size
        yield entry
        if entry["type"] == "directory" and _is_readable(child.path):
            yield from _entries(Path(child.path), f"{entry['path']}/", depth - 1)


def _kind(child: "os.DirEntry[str]") -> str:
    if child.is_symlink():
        return "link"
    if child.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if child.is_file(follow_symlinks=False) else "other"


def _is_readable(path: str) -> bool:
    try:
        return os.access(allowed_path(path), os.R_OK | os.X_OK)
    except PermissionError:
        return False
