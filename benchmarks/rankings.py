"""Rankings of tools for a query, and metrics for their quality."""

import math
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from onetool.catalog.tool_search import MIN_CANDIDATES
from onetool.domain.search.rank_fusion import entry_texts, fuse
from onetool.domain.search.terms import SearchEntry
from onetool.domain.search.tool_index import ToolIndex
from onetool.ports import Embedder

CUTS = (1, 3, 5, 10)
DEPTH = max(CUTS)
Query = tuple[str, Mapping[str, float]]
"""A query and the grade of each relevant tool."""
RESAMPLES = 1_000


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
        self._nearest = embedder.index([entry_texts(entry) for entry in entries])

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return keys with scores, best match first."""
        by_words = dict(self._tool_index.find(query, MIN_CANDIDATES))
        near = {
            self._entries[index].key: similarity for index, similarity in self._nearest(query, MIN_CANDIDATES)
        }
        keys = fuse(by_words, near, self._tool_index.ideal_score(query), limit)
        return [(key, 1 / rank) for rank, key in enumerate(keys, 1)]


def qualities(ranking: Ranking, queries: Sequence[Query]) -> dict[str, list[float]]:
    """Return quality metrics, each between 0 and 1, of every query."""
    rows = [_quality(ranking, query, grades) for query, grades in queries]
    return {metric: [row[metric] for row in rows] for metric in rows[0]}


def mean(values: Sequence[float]) -> float:
    """Return the mean of a metric over all queries."""
    return sum(values) / len(values)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the mean, by resampling the queries."""
    rng = random.Random(1)
    means = sorted(mean(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def _quality(ranking: Ranking, query: str, grades: Mapping[str, float]) -> dict[str, float]:
    ranked = [grades.get(key, 0) for key, _ in ranking.find(query, DEPTH)]
    quality: dict[str, float] = {}
    for cut in CUTS:
        quality[f"recall@{cut}"] = sum(map(bool, ranked[:cut])) / len(grades)
        quality[f"hit@{cut}"] = any(ranked[:cut])
    quality["MRR"] = next((1 / rank for rank, grade in enumerate(ranked, 1) if grade), 0)
    best = sorted(grades.values(), reverse=True)[:DEPTH]
    quality["nDCG@10"] = _gain(ranked) / _gain(best)
    return quality


def _gain(grades: Sequence[float]) -> float:
    return sum((2**grade - 1) / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def _bag(entry: SearchEntry) -> list[str]:
    text = " ".join((entry.name, entry.description, *entry.parameters, *entry.tags))
    return re.findall(r"\w+", text.lower().replace("_", " "))
