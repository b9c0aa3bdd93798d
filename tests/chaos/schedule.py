"""Which faults happen when, drawn from the number of a seed."""

import random
from collections.abc import Sequence
from typing import NamedTuple

FAULTS_PER_SEED = 5
MAX_FAULT_S = 20.0
"""Less than the minute after which a server without a database refuses everything."""
LAST = ("database promoted",)
"""Faults after which others are not possible."""


class PlannedFault(NamedTuple):
    """A fault of a schedule, in seconds since its start."""

    name: str
    start: float
    seconds: float


def choose_faults(seed: int, names: Sequence[str], size: int = FAULTS_PER_SEED) -> list[str]:
    """Return the faults of a seed. They differ, and over many seeds each fault occurs equally often.

    Seeds 1, 2, 3 ... take their faults from one shuffled list of all faults after the other.
    """
    rng, unused = random.Random("faults"), list[str]()
    chosen: list[str] = []
    for _ in range(seed):
        chosen = []
        while len(chosen) < size:
            if all(name in chosen for name in unused):
                more = list(names)
                rng.shuffle(more)
                unused += more
            chosen.append(unused.pop(next(n for n, name in enumerate(unused) if name not in chosen)))
    return sorted(chosen, key=lambda name: name in LAST)


def schedule(seed: int, names: Sequence[str], seconds: float) -> list[PlannedFault]:
    """Return when the faults of a seed start and how long they last. Some overlap."""
    rng, slot = random.Random(f"schedule {seed}"), seconds / max(1, len(names))
    return [
        PlannedFault(
            name,
            round(number * slot + rng.uniform(0, 0.3) * slot, 2),
            round(min(rng.uniform(0.25, 0.9) * slot, MAX_FAULT_S), 2),
        )
        for number, name in enumerate(names)
    ]
