"""Positions in the source of a program."""

import ast
from collections.abc import Iterable

Span = tuple[int, int]
"""Start and end of a piece of source, in bytes."""
Edit = tuple[int, int, bytes]
"""Start and end of a piece of source, and what replaces it."""
MAX_LINE_LENGTH = 160


class SourceMap:
    """Maps syntax tree nodes to byte offsets in the source."""

    def __init__(self, source: str) -> None:
        self.text = source.encode()
        self._starts = [0]
        for line in self.text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Return the start and the end of a node."""
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def replace(self, start: int, end: int, new: bytes) -> Edit:
        """Return an edit that preserves the number of lines."""
        missing = self.text[start:end].count(b"\n") - new.count(b"\n")
        return start, end, new + b"\n" * missing


def apply_edits(text: bytes, edits: Iterable[Edit]) -> str:
    """Return the text after edits that do not overlap."""
    pieces, position = list[bytes](), 0
    for start, end, new in sorted(edits):
        pieces += text[position:start], new
        position = end
    return b"".join([*pieces, text[position:]]).decode()


def quote_line(source: str, line: int) -> str:
    """Return a line of the source, indented on a line of its own, or an empty string if it is blank."""
    text = "".join(source.split("\n")[line - 1 : line]).strip()
    shown = text if len(text) <= MAX_LINE_LENGTH else text[:MAX_LINE_LENGTH] + "..."
    return f"\n    {shown}" if shown else ""
