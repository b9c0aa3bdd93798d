"""Rankings of tools for a query, and metrics for their quality."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

from onetool.catalog.tool_search import MIN_CANDIDATES
from onetool.domain.search.rank_fusion import entry_text, fuse
from onetool.domain.search.tool_index import SearchEntry, ToolIndex
from onetool.ports import Embedder

CUTS = (1, 3, 5, 10)
DEPTH = max(CUTS)
Query = tuple[str, Mapping[str, int]]
"""A query and the grade of each relevant tool."""


class Ranking(Protocol):
    """Ranks tools for a query."""

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, best match first."""
        ...


class PlainBm25:
    """Textbook BM25: one bag of words per tool, without stemming and fields."""

    K1, B = 1.2, 0.75

    def __init__(self, entries: Sequence[SearchEntry]) -> None:
        self._keys = [entry.key for entry in entries]
        self._bags = [Counter(_bag(entry)) for entry in entries]
        self._mean_length = sum(map(Counter.total, self._bags)) / len(self._bags)
        frequency = Counter(word for bag in self._bags for word in bag)
        total = len(entries)
        self._rarity = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, best match first."""
        terms = re.findall(r"\w+", query.lower())
        scored = [(-self._score(bag, terms), index) for index, bag in enumerate(self._bags)]
        return [(self._keys[index], -score) for score, index in sorted(scored)[:limit] if score]

    def _score(self, bag: Counter[str], terms: Sequence[str]) -> float:
        length = self.K1 * (1 - self.B + self.B * bag.total() / self._mean_length)
        return sum(self._rarity[w] * bag[w] * (self.K1 + 1) / (bag[w] + length) for w in terms if w in bag)


class WordsAndSemantic:
    """The search of OneTool once the embeddings are computed."""

    def __init__(self, embedder: Embedder, entries: Sequence[SearchEntry]) -> None:
        self._entries, self._tool_index = entries, ToolIndex(entries)
        self._nearest = embedder.index([entry_text(entry) for entry in entries])

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, best match first."""
        by_words = [key for key, _ in self._tool_index.find(query, MIN_CANDIDATES)]
        near = [
            (self._entries[index].key, similarity)
            for index, similarity in self._nearest(query, MIN_CANDIDATES)
        ]
        return [(key, 1 / rank) for rank, key in enumerate(fuse(by_words, near, limit), 1)]


def qualities(ranking: Ranking, queries: Sequence[Query]) -> dict[str, float]:
    """Return quality metrics, each between 0 and 1."""
    totals: defaultdict[str, float] = defaultdict(float)
    for query, grades in queries:
        ranked = [grades.get(key, 0) for key, _ in ranking.find(query, DEPTH)]
        for cut in CUTS:
            totals[f"recall@{cut}"] += sum(map(bool, ranked[:cut])) / len(grades)
            totals[f"hit@{cut}"] += any(ranked[:cut])
        totals["MRR"] += next((1 / rank for rank, grade in enumerate(ranked, 1) if grade), 0)
        best = sorted(grades.values(), reverse=True)[:DEPTH]
        totals["nDCG@10"] += _gain(ranked) / _gain(best)
    return {metric: total / len(queries) for metric, total in totals.items()}


def _gain(grades: Sequence[int]) -> float:
    return sum(((1 << grade) - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def _bag(entry: SearchEntry) -> list[str]:
    text = " ".join((entry.name, entry.description, *entry.parameters, *entry.tags))
    return re.findall(r"\w+", text.lower().replace("_", " "))
