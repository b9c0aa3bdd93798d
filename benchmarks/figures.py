"""A figure and what it stands beside; the one way all are timed, in turn, and shown."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
ROUNDS = 5
SMALL = 0.02
"""Ratios below this are shown as fractions."""


@dataclass(frozen=True, slots=True)
class Figure:
    """The bare engine's amount and ours; what counts is how they stand to each other."""

    bare: float
    ours: float
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """How many times the bare engine's amount ours is."""
        return self.ours / self.bare

    def __str__(self) -> str:
        ratio = f"{self.ratio:.2f}x" if self.ratio >= SMALL else f"1/{self.bare / self.ours:,.0f}"
        return f"{ratio} ({shown(self.bare, self.unit)} → {shown(self.ours, self.unit)})"


@dataclass(slots=True)
class Table:
    """Rows under titles, with a line that says how to read them."""

    title: str
    note: str
    columns: Sequence[str]
    rows: list[Sequence[Any]] = field(default_factory=list)

    def markdown(self) -> str:
        """The table for people, in a page and on a screen alike."""
        cells = [[str(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
        rule = "| " + " | ".join("-" * width for width in widths) + " |"
        table = "\n".join([lines[0], rule, *lines[1:]]) + "\n" if self.rows else ""
        return f"### {self.title}\n\n{self.note}\n\n{table}".rstrip() + "\n"


def shown(amount: float, unit: str) -> str:
    """An amount with the unit that suits its size."""
    if unit == "s":
        return f"{amount * 1e3:,.1f} ms" if amount >= 1e-3 else f"{amount * 1e6:,.1f} µs"
    if unit == "bytes":
        return f"{amount / 2**20:,.0f} MB"
    return f"{amount:,.3f}" if amount < 10 and unit == "part" else f"{amount:,.0f}"


async def interleaved(*measured: Callable[[], Awaitable[T]], rounds: int = ROUNDS) -> list[list[T]]:
    """Measure all in turn, several times, so that what disturbs one disturbs all; a list for each."""
    taken = [[await one() for one in measured] for _ in range(rounds)]
    return [list(each) for each in zip(*taken, strict=True)]
