"""The review of a project's files on the terminal. Everything in them may come from an attacker."""

import difflib
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

import click

from onetool.domain.text.strings import escape_invisible, pluralize, shorten
from onetool.settings.trust import digest
from onetool.settings.trust_effects import GROUPS, PACKS, PROGRAMS, TrustEffect
from onetool.settings.trust_review import ProjectReview, ReviewedFile

MAX_DIFF_LINES = 1_000
"""Lines of a file up to which it is compared line by line; an attacker could make more take forever."""
ALWAYS_SHOWN = GROUPS[:4]
CONTINUATION = "> "
"""Start of a line that continues the previous one."""
COLORS = {"+": "green", "-": "red"}
NOTES = {
    PROGRAMS: "Trust covers these command lines, not the content of the programs and files that they name.",
    PACKS: "Packs are code that runs with your permissions: it can open any file or host.",
}


class TrustView:
    """Prints a review. Unless it is `full`, long parts are shortened and the hidden amount is stated."""

    def __init__(self, stream: TextIO, *, full: bool) -> None:
        self._stream, self._full = stream, full
        self._width = shutil.get_terminal_size().columns if stream.isatty() else 0
        self._max_length, self._max_items = 500, 50
        self._max_file_lines, self._lines_left = 100, 400
        self.has_hidden = False
        """Whether something was left out."""

    def print_files(self, project: Path, review: ProjectReview) -> None:
        """Print the status of each file, and what changed in it."""
        self._print(f"Files of {_path_text(project)}:")
        self._print_items((("  ", line) for line in _file_lines(review)), "file")
        for file in review.files:
            if file.status != "trusted":
                self._print_diff(file)

    def print_list(self, title: str, lines: Sequence[str]) -> None:
        """Print lines with names of the files."""
        self._print(f"{title}:")
        self._print_items((("  ", line) for line in lines), "line")

    def print_effects(
        self,
        effects: Sequence[TrustEffect],
        before: Sequence[TrustEffect] | None,
        *,
        intro: str = "If you trust these files",
        always: Sequence[str] = ALWAYS_SHOWN,
    ) -> None:
        """Print what the files would do, and mark what they do not do yet. None: nothing was trusted yet.

        always: groups that are also printed if they are empty.
        """
        note = "" if before is None else " (+ marks what you have not trusted yet)"
        self._print(f"\n{intro}{note}:")
        for group in GROUPS:
            listed = [effect for effect in effects if effect.group == group]
            if not listed and group not in always:
                continue
            self._print(f"  {group}:" + ("" if listed else " none"), bold=bool(listed))
            is_new = [before is not None and effect not in before for effect in listed]
            prefixes = ["  + " if new else "    " for new in is_new]
            self._print_items(zip(prefixes, (effect.text for effect in listed), strict=True), "line")
            if listed and group in NOTES:
                self._print(f"    {NOTES[group]}", dim=True)

    def _print_items(self, items: Iterable[tuple[str, str]], noun: str) -> None:
        listed = list(items)
        shown = listed if self._full else listed[: self._max_items]
        for prefix, text in shown:
            self._print_line(prefix, text)
        self._print_hidden(len(listed) - len(shown), noun)

    def _print_diff(self, file: ReviewedFile) -> None:
        before = _lines(file.trusted_content or b"")
        lines = list(_diff(before, _lines(file.content)))
        self._print("")
        self._print_line("", f"{'Content' if file.trusted_content is None else 'Changes'} of {file.name}:")
        if file.status == "changed" and file.trusted_content is None:
            self._print("  There is no copy of the content that you trusted.", dim=True)
        if not lines:
            self._print(
                "  No difference in the text. The bytes differ." if before else "  It is empty.", dim=True
            )
        limit = len(lines) if self._full else min(self._max_file_lines, self._lines_left)
        self._lines_left -= min(limit, len(lines))
        for line in lines[:limit]:
            self._print_line(f"  {line[0]} ", line[1:], COLORS.get(line[0]))
        self._print_hidden(len(lines) - limit, "line")

    def _print_hidden(self, count: int, noun: str) -> None:
        if count > 0:
            self.has_hidden = True
            self._print(f"  [... {pluralize(count, noun)} hidden ...]", bold=True)

    def _print_line(self, prefix: str, text: str, color: str | None = None) -> None:
        """Print a text of the project. Marks continuations, so that none imitates a line of the review."""
        escaped = escape_invisible(text)
        if not self._full:
            shortened = shorten(escaped, self._max_length)
            self.has_hidden |= shortened != escaped
            escaped = shortened
        first, *rest = self._wrap(escaped, len(prefix) + len(CONTINUATION))
        self._print(prefix + first, fg=color)
        for part in rest:
            self._print(prefix + CONTINUATION + part, fg=color)

    def _wrap(self, text: str, indent: int) -> list[str]:
        if not self._width:
            return [text]
        from rich.cells import chop_cells

        return chop_cells(text, max(self._width - indent, 20)) or [""]

    def _print(self, text: str, *, fg: str | None = None, bold: bool = False, dim: bool = False) -> None:
        has_style = fg or bold or dim
        styled = click.style(text, fg=fg, bold=bold or None, dim=dim or None) if has_style else text
        click.echo(styled, file=self._stream)


def _file_lines(review: ProjectReview) -> Iterator[str]:
    for file in review.files:
        size = f"{len(file.content):,} bytes"
        yield f"{file.status:<8} {file.name}  ({size}, sha256 {digest(file.content)[:12]})"
    for name in review.removed:
        yield f"removed  {name}"
    for name, reason in review.rejected.items():
        yield f"ignored  {name}  ({reason})"


def _path_text(path: Path) -> str:
    return escape_invisible(os.fsencode(path).decode(errors="backslashreplace"))


def _lines(content: bytes) -> list[str]:
    """Split at line feeds only: other line ends stay visible as escapes."""
    lines = content.decode("utf-8", "backslashreplace").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _diff(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a diff, each with its mark as the first character."""
    if not before:
        yield from (f"+{line}" for line in after)
    elif max(len(before), len(after)) <= MAX_DIFF_LINES:
        lines = difflib.unified_diff(before, after, n=2, lineterm="")
        yield from (f" {line}" if line.startswith("@@") else line for line in list(lines)[2:])
    else:
        start = _common_length(before, after)
        end = _common_length(before[start:][::-1], after[start:][::-1])
        yield f" @@ line {start + 1} @@"
        yield from (f"-{line}" for line in before[start : len(before) - end])
        yield from (f"+{line}" for line in after[start : len(after) - end])


def _common_length(first: Sequence[str], second: Sequence[str]) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(second)))
