"""Tables and paragraphs of Markdown that read well in the source too."""

import re
from collections.abc import Iterable, Sequence

MADE = "This page is made from the code by `just docs`."
WIDEST = 60
"""Cells that are wider do not push the others aside."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; all columns but the last are aligned."""
    cells = [[_cell(one) for one in row] for row in [head, *rows]]
    widths = [_width(row[column] for row in cells) for column in range(len(head) - 1)]
    lines = [_line(row, widths) for row in cells]
    lines.insert(1, "|" + "|".join([*(f" {'-' * width} " for width in widths), " --- "]) + "|")
    return "\n".join(lines)


def page(title: str, *parts: str) -> str:
    """Write a page: a title, and what stands below it."""
    return "\n\n".join([f"# {title}", *(part.strip() for part in parts if part.strip())]) + "\n"


def code(text: str) -> str:
    """Write something as code."""
    return f"`{text}`" if text else ""


def anchor(heading: str) -> str:
    """Return the anchor that a heading gets."""
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def first_paragraph(text: str | None) -> str:
    """Return what a docstring says first, on one line."""
    return " ".join((text or "").strip().partition("\n\n")[0].split())


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _width(cells: Iterable[str]) -> int:
    return max([3, *(len(cell) for cell in cells if len(cell) <= WIDEST)])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
    return f"| {' | '.join([*padded, row[-1]])} |".replace("|  |", "| |")
