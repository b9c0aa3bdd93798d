"""Queries for the tools of real servers, graded twice, and the agreement of the grades."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

FILE = Path(__file__).with_suffix(".yaml")
MIN_RELEVANT = 1.0
"""Mean grade from which a tool is relevant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedQuery:
    """A query and both grades of each tool that has one."""

    set: str
    """`development`: ranking parameters may be chosen on it. `held-out`: they may not."""
    need: int
    """Queries with the same number ask for the same thing in other words."""
    kind: str
    query: str
    judged: int
    """How many candidates were graded; those without an entry in `grades` have the grade 0 twice."""
    grades: Mapping[str, tuple[int, int]]

    @property
    def relevant(self) -> dict[str, float]:
        """The mean grade of each relevant tool."""
        means = {tool: sum(grades) / 2 for tool, grades in self.grades.items()}
        return {tool: mean for tool, mean in means.items() if mean >= MIN_RELEVANT}


def load_queries() -> list[GradedQuery]:
    """Return all queries."""
    entries = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return [
        GradedQuery(**entry | {"grades": {tool: tuple(grades) for tool, grades in entry["grades"].items()}})
        for entry in entries
    ]


def agreement(queries: Sequence[GradedQuery]) -> float:
    """Return Cohen's kappa of the two passes: 1 for equal grades, 0 for an agreement by chance."""
    pairs = Counter(pair for query in queries for pair in query.grades.values())
    pairs[0, 0] += sum(query.judged - len(query.grades) for query in queries)
    total = pairs.total()
    shares = [Counter[int](), Counter[int]()]
    for pair, count in pairs.items():
        for grade, share in zip(pair, shares, strict=True):
            share[grade] += count
    observed = sum(count for (first, second), count in pairs.items() if first == second) / total
    expected = sum(shares[0][grade] * shares[1][grade] for grade in shares[0]) / total**2
    return (observed - expected) / (1 - expected)
