"""CPU time, which a busy machine changes little, instead of time on the clock."""

import sys
import time
from collections.abc import Callable

if sys.platform == "win32":

    def _children_seconds() -> float:
        return 0.0  # Windows does not add up the CPU time of children

else:
    import resource

    def _children_seconds() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime


def cpu_seconds() -> float:
    """Return the CPU time of this process and its threads, and, except on Windows, of its ended children."""
    return time.process_time() + _children_seconds()


def measure(work: Callable[[], object]) -> float:
    """Return the CPU time of one call in seconds."""
    start = cpu_seconds()
    work()
    return cpu_seconds() - start


def growth(work: Callable[[int], object], small: int, large: int, *, runs: int = 3) -> float:
    """Return how many times the CPU time per item a large input needs, compared with a small one.

    It is about 1 or less for linear time, and about `large / small` for quadratic time. Each size is run
    several times, and its shortest time counts.
    """
    small_s, large_s = [], []
    for _ in range(runs):
        small_s.append(measure(lambda: work(small)))
        large_s.append(measure(lambda: work(large)))
    return (min(large_s) / large) / max(min(small_s) / small, 1e-9)
