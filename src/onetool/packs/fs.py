"""fs: look at files under the allowed directories (`fs.roots` in the settings)."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onetool.sdk import allowed_path, open_allowed, tool

pack = "fs"

MAX_ENTRIES = 20_000
MOST_BYTES = 64 * 2**20


@tool(parallel=True)
def list_dir(path: str, recursive: bool = False, maxDepth: int = 4) -> list[dict[str, Any]]:  # noqa: N803
    """List a directory. Links are shown, not followed.

    Args:
        path: The directory, absolute or relative to the working directory.
        recursive: Whether to list directories inside it too.
        maxDepth: How deep to go when recursive; direct children have depth 1.

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
                f"{path!r} holds more than {MAX_ENTRIES} entries; list a part of it, or less deep."
            )
    return entries


@tool(parallel=True)
def read_file(path: str, maxBytes: int = 204800) -> str:  # noqa: N803
    """Read a text file.

    Args:
        path: The file, absolute or relative to the working directory.
        maxBytes: Refuse files that are larger than this many bytes.

    Returns:
        The text of the file.

    Example:
        fs.read_file(path="README.md")
    """
    limit = min(maxBytes, MOST_BYTES)
    with open_allowed(path) as file:
        content = file.read(max(0, limit) + 1)
    if len(content) > limit:
        more = (
            "Give a larger maxBytes to read it." if limit < MOST_BYTES else "No more than that can be read."
        )
        raise ValueError(f"{path!r} is larger than maxBytes ({limit}). {more}")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path!r} is not UTF-8 text (byte {error.start}).") from None


def _entries(folder: Path, prefix: str, depth: int) -> Iterator[dict[str, Any]]:
    if depth < 1:
        return
    with os.scandir(folder) as found:
        children = sorted(found, key=lambda child: child.name)
    for child in children:
        shown: dict[str, Any] = {"path": prefix + child.name, "type": _kind(child)}
        if shown["type"] == "file":
            shown["size"] = child.stat(follow_symlinks=False).st_size
        yield shown
        if shown["type"] == "directory" and _is_open(child.path):
            yield from _entries(Path(child.path), f"{shown['path']}/", depth - 1)


def _kind(child: "os.DirEntry[str]") -> str:
    if child.is_symlink():
        return "link"
    if child.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if child.is_file(follow_symlinks=False) else "other"


def _is_open(path: str) -> bool:
    try:
        return os.access(allowed_path(path), os.R_OK | os.X_OK)
    except PermissionError:
        return False
