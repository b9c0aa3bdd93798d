"""Durations, counted in buckets."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence


class Durations:
    """Counts durations in buckets, as a histogram of Prometheus does. For one event loop."""

    __slots__ = ("_bounds", "_counts", "total_s")

    def __init__(self, bounds: Sequence[float]) -> None:
        """bounds: the upper bounds of the buckets in seconds, in ascending order."""
        self._bounds, self._counts = bounds, [0] * (len(bounds) + 1)
        self.total_s = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self.total_s += seconds

    def buckets(self) -> Iterator[tuple[str, int]]:
        """Yield each bound, and how many durations are not above it.

        >>> durations = Durations((0.1, 1))
        >>> durations.add(0.1), durations.add(5)
        (None, None)
        >>> list(durations.buckets())
        [('0.1', 1), ('1.0', 1), ('+Inf', 2)]
        """
        count = 0
        for bound, number in zip((*self._bounds, None), self._counts, strict=True):
            count += number
            yield "+Inf" if bound is None else str(float(bound)), count
