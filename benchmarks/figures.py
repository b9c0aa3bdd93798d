"""A figure and its limit, and the way all of them are measured: best of five, interleaved."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

ROUNDS = 5
TINY_ROUNDS = 25
"""More rounds for what takes microseconds: the machine's own speed changes between them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What was measured beside what, in seconds; the figure is a ratio, or a difference in microseconds."""

    what: str
    bare: float
    ours: float
    limit: float
    is_difference: bool = False

    @property
    def value(self) -> float:
        """Times as long, or microseconds more."""
        return (self.ours - self.bare) * 1e6 if self.is_difference else self.ours / self.bare

    @property
    def is_met(self) -> bool:
        """Whether the figure is within its limit."""
        return self.value <= self.limit

    def row(self, width: int) -> str:
        """One line of the table."""
        unit = "us more" if self.is_difference else "x"
        mark = "" if self.is_met else "  OVER"
        return (
            f"{self.what:<{width}}  {_time(self.bare):>12}  {_time(self.ours):>12}  "
            f"{self.value:>8.2f} {unit:<3}  {self.limit:g}{mark}"
        )


def best_of(*measured: Callable[[], float]) -> list[float]:
    """Run all in turn, several times, and keep each one's best."""
    return [min(times) for times in zip(*([one() for one in measured] for _ in range(ROUNDS)), strict=True)]


async def best_of_async(*measured: Callable[[], Awaitable[float]], rounds: int = TINY_ROUNDS) -> list[float]:
    """The same inside an event loop."""
    taken = [[await one() for one in measured] for _ in range(rounds)]
    return [min(times) for times in zip(*taken, strict=True)]


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.2f} us"
