"""What ranks tools for a query: ours by words, ours by words and meaning, and the textbook beside them."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

from onetool.catalog.discovery import CANDIDATES
from onetool.domain.finding import Entry, Finder
from onetool.domain.finding_mix import mix, text_of
from onetool.ports import Meanings

CUTS = (1, 3, 5, 10)
DEPTH = max(CUTS)
Query = tuple[str, Mapping[str, int]]
"""What is asked, and the grade of each tool that answers it."""


class Ranking(Protocol):
    """Whatever ranks tools for a query."""

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, the best first."""
        ...


class PlainBm25:
    """The textbook: all words of a tool in one bag, no stems, no fields."""

    K1, B = 1.2, 0.75

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._keys = [entry.key for entry in entries]
        self._bags = [Counter(_bag(entry)) for entry in entries]
        self._usual = sum(map(Counter.total, self._bags)) / len(self._bags)
        having = Counter(word for bag in self._bags for word in bag)
        total = len(entries)
        self._rarity = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in having.items()}

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, the best first."""
        wanted = re.findall(r"\w+", query.lower())
        scored = [(-self._score(bag, wanted), index) for index, bag in enumerate(self._bags)]
        return [(self._keys[index], -score) for score, index in sorted(scored)[:limit] if score]

    def _score(self, bag: Counter[str], wanted: Sequence[str]) -> float:
        length = self.K1 * (1 - self.B + self.B * bag.total() / self._usual)
        return sum(self._rarity[w] * bag[w] * (self.K1 + 1) / (bag[w] + length) for w in wanted if w in bag)


class WordsAndMeaning:
    """What discovery answers with once the meanings are learnt."""

    def __init__(self, meanings: Meanings, entries: Sequence[Entry]) -> None:
        self._entries, self._finder = entries, Finder(entries)
        self._nearest = meanings.learn([text_of(entry) for entry in entries])

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, the best first."""
        by_words = [key for key, _ in self._finder.find(query, CANDIDATES)]
        near = [(self._entries[place].key, near) for place, near in self._nearest(query, CANDIDATES)]
        return [(key, 1 / place) for place, key in enumerate(mix(by_words, near, limit), 1)]


def qualities(ranking: Ranking, queries: Sequence[Query]) -> dict[str, float]:
    """How good the answers are, each measure between 0 and 1."""
    totals: defaultdict[str, float] = defaultdict(float)
    for query, grades in queries:
        found = [grades.get(key, 0) for key, _ in ranking.find(query, DEPTH)]
        for cut in CUTS:
            totals[f"recall@{cut}"] += sum(map(bool, found[:cut])) / len(grades)
            totals[f"hit@{cut}"] += any(found[:cut])
        totals["MRR"] += next((1 / place for place, grade in enumerate(found, 1) if grade), 0)
        best = sorted(grades.values(), reverse=True)[:DEPTH]
        totals["nDCG@10"] += _gain(found) / _gain(best)
    return {what: total / len(queries) for what, total in totals.items()}


def _gain(grades: Sequence[int]) -> float:
    return sum(((1 << grade) - 1) / math.log2(place + 1) for place, grade in enumerate(grades, 1))


def _bag(entry: Entry) -> list[str]:
    text = " ".join((entry.name, entry.description, *entry.parameters, *entry.tags))
    return re.findall(r"\w+", text.lower().replace("_", " "))
