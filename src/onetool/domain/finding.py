"""Rank tools by what somebody wants to do, in their own words: an index in memory, no engine, no model."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise

from .finding_words import KINDS, joined, words

WEIGHTS = (3.0, 1.5, 0.4, 0.4, 1.0)
"""What a word counts in the name, the first sentence, the rest after it, the parameters, the tags."""
SHORTENING = (0.3, 0.5, 0.5, 0.5, 0.0)
"""How much a field longer than others takes from its words, in the same order: 0 nothing, 1 all."""
SATURATION = 1.2
ALIKE = 0.35
"""What a verb counts that means the same."""
MISSPELT = 0.6
"""What a word counts that was only meant."""
PAIRED = 0.3
"""What two words count that stand side by side in a name, on top of what they count alone."""
NAMED = 0.6
"""By how much more a tool counts whose whole name was said."""
NEAR_ENOUGH = 80.0
MEANT = 2
"""Known words that stand for one unknown."""
SHORTEST_TYPO = 4
MOST_TYPOS = 5
LONGEST_QUERY = 2_000
"""Characters of a query that are looked at."""
ENOUGH = 300
"""Tools that have the rarer words of a query; what has only the commoner ones comes after them."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=。)|\n\s*\n")

Postings = Mapping[str, Mapping[int, float]]
"""Each word with the tools that have it, and a number for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A tool as it is looked for."""

    key: str
    name: str
    description: str = ""
    parameters: Sequence[str] = ()
    tags: Sequence[str] = ()


class Finder:
    """All tools at one moment, ready to be asked."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        listed = list(entries)
        fields = [_fields(entry) for entry in listed]
        self._keys = [entry.key for entry in listed]
        self._scores = _weigh(fields)
        self._names = _share_names(fields)
        self._vocabulary: defaultdict[str, list[str]] = defaultdict(list)
        for word in sorted(self._scores):
            self._vocabulary[word[0]].append(word)

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return the keys that fit, the best first, each with its score; ties in the order of the entries."""
        terms = self._terms(query[:LONGEST_QUERY])
        scores = self._add_up(terms, max(ENOUGH, limit))
        shares: defaultdict[int, float] = defaultdict(float)
        for term in terms:
            for tool, share in self._names.get(term, {}).items():
                shares[tool] += share
        ranked = ((-score * (1 + NAMED * shares.get(tool, 0.0)), tool) for tool, score in scores.items())
        return [(self._keys[tool], -score) for score, tool in nsmallest(limit, ranked)]

    def _add_up(self, terms: Mapping[str, float], enough: int) -> Mapping[int, float]:
        """Score the tools, rare words first: once there are enough of them, common words bring no more."""
        scores: dict[int, float] = {}
        known = [(self._scores[term], weight) for term, weight in terms.items() if term in self._scores]
        for having, weight in sorted(known, key=lambda one: len(one[0])):
            if len(scores) < enough:
                for tool, score in having.items():
                    scores[tool] = scores.get(tool, 0.0) + weight * score
            else:
                for tool in scores.keys() & having.keys():
                    scores[tool] += weight * having[tool]
        return scores

    def _terms(self, query: str) -> dict[str, float]:
        """What to look up, with what it counts: words, verbs alike, and known words for misspelt ones."""
        asked = list(dict.fromkeys(words(query)))
        terms = {KINDS[word]: ALIKE for word in asked if word in KINDS}
        terms |= dict.fromkeys(map(joined, pairwise(asked)), PAIRED)
        unknown = [word for word in asked if word not in self._scores and len(word) >= SHORTEST_TYPO]
        for word in unknown[:MOST_TYPOS]:
            terms |= dict.fromkeys(self._nearest(word), MISSPELT)
        return terms | dict.fromkeys(asked, 1.0)

    def _nearest(self, word: str) -> list[str]:
        """Known words that were meant; hardly anybody mistypes the first letter."""
        from rapidfuzz import fuzz, process

        known = self._vocabulary.get(word[0], ())
        found = process.extract(word, known, scorer=fuzz.ratio, limit=MEANT, score_cutoff=NEAR_ENOUGH)
        return [meant for meant, _score, _index in found]


def _fields(entry: Entry) -> list[list[str]]:
    """The words of an entry by where they stand, in the order of the weights."""
    summary, *rest = SENTENCE_END.split(entry.description.strip(), maxsplit=1)
    texts = (entry.name, summary, *(rest or [""]), " ".join(entry.parameters), " ".join(entry.tags))
    return [words(text) for text in texts]


def _weigh(tools: Sequence[list[list[str]]]) -> Postings:
    """What each word adds to the score of each tool: more for rare words and good places (BM25F)."""
    lengths = [sum(map(len, column)) / len(tools) for column in zip(*tools, strict=True)]
    found: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for tool, fields in enumerate(tools):
        for word, weight in _counts(fields, lengths).items():
            found[word][tool] = weight / (SATURATION + weight)
    for having in found.values():
        rarity = math.log(1 + (len(tools) - len(having) + 0.5) / (len(having) + 0.5))
        for tool in having:
            having[tool] *= rarity
    return found


def _counts(fields: Sequence[list[str]], lengths: Sequence[float]) -> Mapping[str, float]:
    counts: defaultdict[str, float] = defaultdict(float)
    for texts, usual, weight, shortening in zip(fields, lengths, WEIGHTS, SHORTENING, strict=True):
        each = weight / (1 - shortening + shortening * len(texts) / usual) if texts else 0.0
        for word in texts:
            counts[word] += each
            if word in KINDS:
                counts[KINDS[word]] += each
    for pair in pairwise(fields[0]):
        counts[joined(pair)] += WEIGHTS[0]
    return counts


def _share_names(tools: Sequence[list[list[str]]]) -> Postings:
    """Which part of each tool's name a word is; a verb alike is half of what the verb itself is."""
    shares: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for tool, (name, *_) in enumerate(tools):
        for word in dict.fromkeys(name):
            share = 1 / len(name)
            if word in KINDS:
                share /= 2
                shares[KINDS[word]][tool] = share
            shares[word][tool] = share
    return shares
