"""Figures, tables and interleaved measurements."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
ROUNDS = 5
MIN_DECIMAL_RATIO = 0.02
"""Smaller ratios are shown as fractions."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The amounts of the bare engine and of OneTool, and their ratio."""

    bare: float
    ours: float
    unit: str = "s"
    interval: tuple[float, float] | None = None
    """The 95 % interval of the amount of OneTool."""

    @property
    def ratio(self) -> float:
        """The amount of OneTool divided by that of the bare engine."""
        return self.ours / self.bare

    def __str__(self) -> str:
        ratio = f"{self.ratio:.2f}x" if self.ratio >= MIN_DECIMAL_RATIO else f"1/{self.bare / self.ours:,.0f}"
        amounts = f"{format_amount(self.bare, self.unit)} → {format_amount(self.ours, self.unit)}"
        interval = "–".join(format_amount(end, self.unit) for end in self.interval or ())
        return f"{ratio} ({amounts}{interval and f', {interval}'})"


@dataclass(slots=True)
class Table:
    """A table with a title and a note."""

    title: str
    note: str
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)

    def markdown(self) -> str:
        """Return the table as aligned Markdown."""
        cells = [[str(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
        rule = "| " + " | ".join("-" * width for width in widths) + " |"
        table = "\n".join([lines[0], rule, *lines[1:]]) + "\n" if self.rows else ""
        return f"### {self.title}\n\n{self.note}\n\n{table}".rstrip() + "\n"


def format_amount(amount: float, unit: str) -> str:
    """Return an amount with a suitable unit."""
    if unit == "s":
        return f"{amount * 1e3:,.1f} ms" if amount >= 1e-3 else f"{amount * 1e6:,.1f} µs"
    if unit == "bytes":
        return f"{amount / 2**20:,.0f} MB"
    return f"{amount:,.3f}" if amount < 10 and unit == "part" else f"{amount:,.0f}"


async def interleaved(*measurements: Callable[[], Awaitable[T]], rounds: int = ROUNDS) -> list[list[T]]:
    """Run all measurements in turn for several rounds, so that noise affects all; return a list for each."""
    results = [[await measure() for measure in measurements] for _ in range(rounds)]
    return [list(column) for column in zip(*results, strict=True)]
