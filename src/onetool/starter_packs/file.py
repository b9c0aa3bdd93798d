"""file: read, search and edit text files under the allowed directories (`fs.roots` in the settings)."""

import difflib
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import groupby
from typing import Any

from onetool.sdk import open_allowed, tool, write_allowed

pack = "file"

MAX_BYTES = 10 * 2**20
MAX_LINES, MAX_MATCHES, MAX_LENGTH = 5_000, 1_000, 500
MAX_COMPARED = 20_000
"""Limit for lines between the first and the last difference; memory use is quadratic."""
DEFAULT_MODE = 0o666
"""Permissions of a new file before the umask, as for other programs."""


@tool(parallel=True, tags=["files"])
def read(path: str, start_line: int = 1, lines: int = 200) -> dict[str, Any]:
    """Read lines of a text file by number.

    Args:
        path: The file, absolute or relative to the working directory.
        start_line: First line, counted from 1; -20 starts at the 20th line from the end.
        lines: Maximum number of lines.

    Returns:
        text, start_line, end_line, total_lines.

    Example:
        file.read(path="README.md", lines=40)["text"]
    """
    all_lines = list(StringIO(_read_text(path).removeprefix("\ufeff")))
    first = max(0, len(all_lines) + start_line if start_line < 0 else start_line - 1)
    selected = all_lines[first : first + max(1, min(lines, MAX_LINES))]
    text = "".join(selected).replace("\r\n", "\n")
    numbers = {"start_line": first + 1, "end_line": first + len(selected), "total_lines": len(all_lines)}
    return {"text": text, **numbers}


@tool(parallel=True, tags=["files", "grep"])
def search(path: str, text: str, ignore_case: bool = False, max_results: int = 100) -> list[dict[str, Any]]:
    """Find the lines of one file that contain a text. Use ripgrep.search to search many files.

    Args:
        path: The file, absolute or relative to the working directory.
        text: The literal text to find.
        ignore_case: Ignore case.
        max_results: Maximum number of lines.

    Returns:
        line (number) and text of each match.

    Example:
        file.search(path="README.md", text="install")
    """
    needle = text.casefold() if ignore_case else text
    if not needle:
        raise ValueError("text is empty. Pass the text to find.")
    matches: list[dict[str, Any]] = []
    for number, line in enumerate(StringIO(_read_text(path)), 1):
        if needle in (line.casefold() if ignore_case else line):
            matches.append({"line": number, "text": line.rstrip("\r\n")[:MAX_LENGTH]})
        if len(matches) >= max(1, min(max_results, MAX_MATCHES)):
            break
    return matches


@tool(read_only=False, tags=["files"])
def edit(path: str, old: str, new: str) -> str:
    """Replace text in a file. The text must occur exactly once.

    Args:
        path: The file, absolute or relative to the working directory.
        old: The exact text to replace, including whitespace; long enough to be unique.
        new: The replacement; empty to delete the text.

    Returns:
        The change as a unified diff.

    Example:
        file.edit(path="setup.cfg", old="version = 1.0", new="version = 1.1")
    """
    before = _read_text(path)
    if "\r\n" in before and old not in before:
        old, new = (text.replace("\r\n", "\n").replace("\n", "\r\n") for text in (old, new))
    if not old:
        raise ValueError("old is empty. Pass the text to replace, or use file.write to create a file.")
    if (count := before.count(old)) != 1:
        problem = (
            f"occurs {count} times. Pass more of the surrounding text"
            if count
            else "was not found. Use file.read to see the text"
        )
        raise ValueError(f"{old[:100]!r} {problem}.")
    after = before.replace(old, new)
    diff_text = _diff(before, after, path, path)
    _write(path, after, lambda: _read_text(path) == before, "it has changed since it was read. Read it again")
    return diff_text


@tool(read_only=False, tags=["files"])
def write(path: str, content: str, overwrite: bool = False) -> str:
    """Write a text file.

    Args:
        path: The file, absolute or relative to the working directory; its directory must exist.
        content: The complete text of the file.
        overwrite: Replace an existing file.

    Returns:
        The number of lines written.

    Example:
        file.write(path="notes.md", content="# Notes\\n")
    """
    _write(path, content, lambda: overwrite, "it already exists. Pass overwrite=True to replace it")
    return f"Wrote {len(content.splitlines())} lines to {path}."


@tool(parallel=True, tags=["files"])
def diff(path: str, other: str) -> str:
    """Compare two text files.

    Args:
        path: The first file, absolute or relative to the working directory.
        other: The second file.

    Returns:
        A unified diff from the first file to the second; empty if they are equal.

    Example:
        file.diff(path="settings.yaml", other="settings.yaml.orig")
    """
    return _diff(_read_text(path), _read_text(other), path, other)


def _read_text(path: str) -> str:
    with open_allowed(path) as opened:
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{path!r} is larger than {MAX_BYTES} bytes. Use ripgrep.search to search it.")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path!r} is not UTF-8 text (byte {error.start}).") from None
    if "\0" in text:
        raise ValueError(f"{path!r} is binary, not text.")
    return text


def _write(path: str, text: str, may_replace: Callable[[], bool], reason: str) -> None:
    def check(head: bytes) -> bool:
        if not may_replace():
            raise FileExistsError(f"Cannot write {path!r}: {reason}.")
        return True

    content = text.encode("utf-8", "replace")
    if len(content) > MAX_BYTES:
        raise ValueError(f"The text for {path!r} is larger than {MAX_BYTES} bytes.")
    write_allowed(path, content, may_replace=check, mode=DEFAULT_MODE)


def _diff(before: str, after: str, path: str, other: str) -> str:
    old, new = list(StringIO(before)), list(StringIO(after))
    hunks = [line for hunk in _LineMatcher(old, new).get_grouped_opcodes() for line in _hunk(hunk, old, new)]
    lines = [f"--- {path}\n", f"+++ {other}\n", *hunks] if hunks else []
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


class _LineMatcher(difflib.SequenceMatcher[str]):
    """Computes differences with rapidfuzz; for some files, difflib is hundreds of times slower."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__()
        self._old, self._new = old, new

    def get_opcodes(self) -> list[Any]:
        from rapidfuzz.distance import Indel

        prefix = _common_prefix(self._old, self._new)
        suffix = _common_prefix(self._old[prefix:][::-1], self._new[prefix:][::-1])
        if max(len(self._old), len(self._new)) - prefix - suffix > MAX_COMPARED:
            raise ValueError(f"More than {MAX_COMPARED} lines between the first and the last difference.")
        opcodes = Indel.opcodes(self._old, self._new)
        return [(code.tag, code.src_start, code.src_end, code.dest_start, code.dest_end) for code in opcodes]


def _common_prefix(first: list[str], second: list[str]) -> int:
    """Return the number of equal lines at the start."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(second)))


def _hunk(codes: list[Any], old: list[str], new: list[str]) -> Iterator[str]:
    (_, i1, _, j1, _), (_, _, i2, _, j2) = codes[0], codes[-1]
    yield f"@@ -{i1 + (i2 > i1)},{i2 - i1} +{j1 + (j2 > j1)},{j2 - j1} @@\n"
    for is_equal, group in groupby(codes, lambda code: code[0] == "equal"):
        run = list(group)
        yield from (f"{' ' if is_equal else '-'}{line}" for code in run for line in old[code[1] : code[2]])
        if not is_equal:
            yield from (f"+{line}" for code in run for line in new[code[3] : code[4]])
