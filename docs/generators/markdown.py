"""Markdown tables and paragraphs that are readable as source text."""

import re
from collections.abc import Iterable, Sequence

GENERATED = "This page is generated from the code by `just docs`."
MAX_ALIGNED = 60
"""Wider cells are not aligned."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in which all columns but the last are aligned."""
    cells = [[_cell(text) for text in row] for row in [head, *rows]]
    widths = [_width(row[column] for row in cells) for column in range(len(head) - 1)]
    lines = [_line(row, widths) for row in cells]
    lines.insert(1, "|" + "|".join([*(f" {'-' * width} " for width in widths), " --- "]) + "|")
    return "\n".join(lines)


def page(title: str, *parts: str) -> str:
    """Return a page with a title."""
    text = "\n\n".join([f"# {title}", *(part.strip() for part in parts if part.strip())])
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def code(text: str) -> str:
    """Format a text as code."""
    return f"`{text}`" if text else ""


def anchor(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def first_paragraph(text: str | None) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((text or "").strip().partition("\n\n")[0].split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _width(cells: Iterable[str]) -> int:
    return max([3, *(len(cell) for cell in cells if len(cell) <= MAX_ALIGNED)])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
    return f"| {' | '.join([*padded, row[-1]])} |".replace("|  |", "| |")
