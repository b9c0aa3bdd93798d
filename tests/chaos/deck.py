"""Which faults happen when, drawn from the number of a seed."""

import random
from collections.abc import Sequence
from typing import NamedTuple

FAULTS_PER_SEED = 4
MAX_FAULT_S = 20.0
"""Below the minute after which a server without a database refuses everything."""
LAST = ("database promoted",)
"""Faults after which others are not possible."""


class PlannedFault(NamedTuple):
    """A fault of a schedule, in seconds since its start."""

    name: str
    start: float
    seconds: float


def deal(seed: int, names: Sequence[str], size: int = FAULTS_PER_SEED) -> list[str]:
    """Return the faults of a seed: different ones, and over many seeds each equally often.

    The seeds 1, 2, 3 ... take cards from one shuffled pile after the other.
    """
    rng, pile = random.Random("deck"), list[str]()
    hand: list[str] = []
    for _ in range(seed):
        hand = []
        while len(hand) < size:
            if all(name in hand for name in pile):
                more = list(names)
                rng.shuffle(more)
                pile += more
            hand.append(pile.pop(next(n for n, name in enumerate(pile) if name not in hand)))
    return sorted(hand, key=lambda name: name in LAST)


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
