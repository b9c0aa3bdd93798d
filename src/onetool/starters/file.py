"""file: read, search and change text files under the allowed directories (`fs.roots` in the settings)."""

import difflib
from collections.abc import Callable, Iterator
from io import StringIO
from itertools import groupby
from typing import Any

from onetool.sdk import open_allowed, tool, write_allowed

pack = "file"

MOST_BYTES = 10 * 2**20
MOST_LINES, MOST_MATCHES, LONGEST = 5_000, 1_000, 500
MOST_COMPARED = 20_000
"""Lines between the first and the last difference; memory grows with their square."""
SHARED = 0o666
"""Who may open a new file: as for any other program, the umask decides."""


@tool(parallel=True, tags=["files"])
def read(path: str, start_line: int = 1, lines: int = 200) -> dict[str, Any]:
    """Show lines of a file by their numbers.

    Args:
        path: The file, absolute or relative to the working directory.
        start_line: The first line, from 1 on; -20 for the last 20.
        lines: How many lines at most.

    Returns:
        text, start_line, end_line, total_lines.

    Example:
        file.read(path="README.md", lines=40)["text"]
    """
    every = list(StringIO(_text(path).removeprefix("\ufeff")))
    first = max(0, len(every) + start_line if start_line < 0 else start_line - 1)
    chosen = every[first : first + max(1, min(lines, MOST_LINES))]
    text = "".join(chosen).replace("\r\n", "\n")
    numbers = {"start_line": first + 1, "end_line": first + len(chosen), "total_lines": len(every)}
    return {"text": text, **numbers}


@tool(parallel=True, tags=["files", "grep"])
def search(path: str, text: str, ignore_case: bool = False, max_results: int = 100) -> list[dict[str, Any]]:
    """Find the lines of one file that contain a text; ripgrep.search looks through many files.

    Args:
        path: The file, absolute or relative to the working directory.
        text: What to look for, literally.
        ignore_case: Whether upper and lower case are the same.
        max_results: How many lines at most.

    Returns:
        line and text of each.

    Example:
        file.search(path="README.md", text="install")
    """
    wanted = text.casefold() if ignore_case else text
    if not wanted:
        raise ValueError("text is empty; give what to look for.")
    found: list[dict[str, Any]] = []
    for number, line in enumerate(StringIO(_text(path)), 1):
        if wanted in (line.casefold() if ignore_case else line):
            found.append({"line": number, "text": line.rstrip("\r\n")[:LONGEST]})
        if len(found) >= max(1, min(max_results, MOST_MATCHES)):
            break
    return found


@tool(changes=True, tags=["files"])
def edit(path: str, old: str, new: str) -> str:
    """Replace a piece of text in a file; it must stand there exactly once.

    Args:
        path: The file, absolute or relative to the working directory.
        old: The text as it stands, with its white space; enough of it to be found once.
        new: What to put in its place; empty to delete.

    Returns:
        What changed, as a unified diff.

    Example:
        file.edit(path="setup.cfg", old="version = 1.0", new="version = 1.1")
    """
    before = _text(path)
    if "\r\n" in before and old not in before:
        old, new = (text.replace("\r\n", "\n").replace("\n", "\r\n") for text in (old, new))
    if not old:
        raise ValueError("old is empty; give the text to replace, or use file.write for a new file.")
    if (times := before.count(old)) != 1:
        said = (
            f"is there {times} times; give more of it" if times else "is not there; file.read shows what is"
        )
        raise ValueError(f"{old[:100]!r} {said}.")
    after = before.replace(old, new)
    shown = _diff(before, after, path, path)
    _write(path, after, lambda: _text(path) == before, "it has changed in the meantime; read it again")
    return shown


@tool(changes=True, tags=["files"])
def write(path: str, content: str, overwrite: bool = False) -> str:
    """Write a text file as a whole.

    Args:
        path: The file, absolute or relative to the working directory; its directory must be there.
        content: The text.
        overwrite: Whether a file that is there may be replaced.

    Returns:
        What was written.

    Example:
        file.write(path="notes.md", content="# Notes\\n")
    """
    _write(path, content, lambda: overwrite, "it is there already; overwrite=True replaces it")
    return f"Wrote {len(content.splitlines())} lines to {path}."


@tool(parallel=True, tags=["files"])
def diff(path: str, other: str) -> str:
    """Compare two text files.

    Args:
        path: The one file, absolute or relative to the working directory.
        other: The other file.

    Returns:
        A unified diff that makes the other of the one; empty where they are the same.

    Example:
        file.diff(path="settings.yaml", other="settings.yaml.orig")
    """
    return _diff(_text(path), _text(other), path, other)


def _text(path: str) -> str:
    with open_allowed(path) as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{path!r} is larger than {MOST_BYTES} bytes; search it with ripgrep.search.")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path!r} is not UTF-8 text (byte {error.start}).") from None
    if "\0" in text:
        raise ValueError(f"{path!r} is binary, not text.")
    return text


def _write(path: str, text: str, may_replace: Callable[[], bool], otherwise: str) -> None:
    def allows(head: bytes) -> bool:
        if not may_replace():
            raise FileExistsError(f"{path!r} is left as it is: {otherwise}.")
        return True

    content = text.encode("utf-8", "replace")
    if len(content) > MOST_BYTES:
        raise ValueError(f"The text for {path!r} is larger than {MOST_BYTES} bytes.")
    write_allowed(path, content, may_replace=allows, mode=SHARED)


def _diff(before: str, after: str, path: str, other: str) -> str:
    old, new = list(StringIO(before)), list(StringIO(after))
    hunks = [line for hunk in _Lines(old, new).get_grouped_opcodes() for line in _hunk(hunk, old, new)]
    lines = [f"--- {path}\n", f"+++ {other}\n", *hunks] if hunks else []
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


class _Lines(difflib.SequenceMatcher[str]):
    """Finds what changed with rapidfuzz: for some files difflib itself takes hundreds of times as long."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        super().__init__()
        self._old, self._new = old, new

    def get_opcodes(self) -> list[Any]:
        from rapidfuzz.distance import Indel

        alike = _alike(self._old, self._new)
        ends = _alike(self._old[alike:][::-1], self._new[alike:][::-1])
        if max(len(self._old), len(self._new)) - alike - ends > MOST_COMPARED:
            raise ValueError(
                f"More than {MOST_COMPARED} lines lie between the first and the last difference."
            )
        found = Indel.opcodes(self._old, self._new)
        return [(one.tag, one.src_start, one.src_end, one.dest_start, one.dest_end) for one in found]


def _alike(one: list[str], other: list[str]) -> int:
    """How many lines are the same at the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _hunk(codes: list[Any], old: list[str], new: list[str]) -> Iterator[str]:
    (_, i1, _, j1, _), (_, _, i2, _, j2) = codes[0], codes[-1]
    yield f"@@ -{i1 + (i2 > i1)},{i2 - i1} +{j1 + (j2 > j1)},{j2 - j1} @@\n"
    for is_same, found in groupby(codes, lambda code: code[0] == "equal"):
        run = list(found)
        yield from (f"{' ' if is_same else '-'}{line}" for code in run for line in old[code[1] : code[2]])
        if not is_same:
            yield from (f"+{line}" for code in run for line in new[code[3] : code[4]])
