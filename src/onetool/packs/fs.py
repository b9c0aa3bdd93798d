"""fs: list and read files under the allowed directories (`fs.roots` in the settings)."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from onetool.sdk import open_allowed, open_allowed_directory, tool, working_directory

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
        Entries by name: path (as fs.read_file takes it), type (file, directory, link, other), size of files,
        cut (true for a directory whose entries are deeper than maxDepth).

    Example:
        fs.list_dir(path="src", recursive=True)
    """
    if recursive and maxDepth < 1:
        raise ValueError(f"maxDepth must be at least 1, got {maxDepth}.")
    entries: list[dict[str, Any]] = []
    prefix = _prefix(path)
    deepest = prefix.count("/") + maxDepth - 1
    for entry in _entries(path, prefix, maxDepth if recursive else 1):
        if recursive and entry["type"] == "directory" and entry["path"].count("/") >= deepest:
            entry["cut"] = True
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
    if maxBytes < 1:
        raise ValueError(f"maxBytes must be at least 1, got {maxBytes}.")
    limit = min(maxBytes, MAX_BYTES)
    with open_allowed(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        hint = "Increase maxBytes to read it." if limit < MAX_BYTES else "Larger files cannot be read."
        raise ValueError(f"{path!r} is larger than maxBytes ({limit}). {hint}")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path!r} is not UTF-8 text (byte {error.start}).") from None


def _prefix(path: str) -> str:
    """Return how the paths in a directory begin: relative to the working directory if they are in it."""
    directory, own = path.rstrip("/"), f"{working_directory()}/"
    if directory == "." or f"{directory}/" == own:
        return ""
    return f"{directory}/".removeprefix(own).removeprefix("./")


def _entries(directory: str, prefix: str, depth: int) -> Iterator[dict[str, Any]]:
    if depth < 1:
        return
    with open_allowed_directory(directory) as opened:
        children, path = opened.entries(), opened.path
    for child in children:
        entry: dict[str, Any] = {"path": prefix + child.name, "type": child.kind}
        if child.kind == "file":
            entry["size"] = child.size
        yield entry
        if child.kind == "directory":
            with suppress(OSError):  # it is not allowed, not readable, or was replaced
                yield from _entries(str(path / child.name), f"{entry['path']}/", depth - 1)
