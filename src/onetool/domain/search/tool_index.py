"""In-memory full-text index of tools with BM25F ranking, synonyms and typo tolerance."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import nsmallest

from .terms import (
    FUZZY_WEIGHT,
    NO_TOOLS,
    FieldTerms,
    IndexedTool,
    SearchEntry,
    TermStatistics,
    name_pairs,
    query_terms,
    similar_terms,
    unknown_terms,
)
from .tokenizer import SYNONYM_GROUPS

FIELD_WEIGHTS = (3.0, 1.5, 0.4, 0.4, 1.0)
"""Weight of a term in the name, the first sentence, the rest of the description, the parameters, the tags."""
LENGTH_NORMALIZATION = (0.3, 0.5, 0.5, 0.5, 0.0)
"""The parameter b of BM25F by field: 0 ignores the length of a field, 1 normalizes by it fully."""
TERM_SATURATION = 1.2
"""The parameter k1 of BM25F."""
NAME_BOOST = 0.6
"""Share by which a score rises if the query contains the whole name of the tool."""
MAX_IDEAL_TERMS = 4
"""Query terms that a perfect match contains; long queries describe more than one tool can do."""
CANDIDATE_POOL_SIZE = 300
"""Tools that match the rarer terms of a query; beyond it, commoner terms add no candidates."""

Postings = Mapping[str, Mapping[int, float]]
"""For each term, the tools that contain it, each with a weight."""
KeysOf = Callable[[str], Sequence[str]]
"""Returns the keys of the postings to which a term of a tool is added."""


class ToolIndex:
    """An immutable index of tools."""

    def __init__(self, entries: Iterable[SearchEntry | IndexedTool]) -> None:
        self._tools = [
            entry if isinstance(entry, IndexedTool) else IndexedTool(entry.key, entry.terms())
            for entry in entries
        ]
        self._lengths = _lengths(self._tools)
        self._ranking = _Ranking(self._tools, TermStatistics(len(self._tools), self._lengths, {}))
        self._vocabulary: defaultdict[str, list[str]] = defaultdict(list)
        for term in sorted(self._ranking.postings):
            self._vocabulary[term[0]].append(term)

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return the keys of matching tools with their scores, best first; ties keep the order of entries."""
        terms = query_terms(query)
        for term in unknown_terms(terms, self._ranking.postings.get):
            terms = dict.fromkeys(self.similar_terms(term), FUZZY_WEIGHT) | terms
        return [(self._tools[tool].key, score) for tool, score in self._ranking.find(terms, limit)]

    def ideal_score(self, query: str) -> float:
        """Return the score of a tool that contains the rarest terms of a query, and nothing else."""
        return ideal_score(terms := query_terms(query), self.statistics(terms))

    def statistics(self, terms: Iterable[str]) -> TermStatistics:
        """Return how common these terms are."""
        if not self._tools:
            return NO_TOOLS
        counts = {term: len(self._ranking.postings.get(term, ())) for term in terms}
        return TermStatistics(len(self._tools), self._lengths, counts)

    def similar_terms(self, term: str) -> list[str]:
        """Return indexed terms similar to a misspelled one; typos in the first letter are rare."""
        return similar_terms(term, self._vocabulary.get(term[0], ()))

    def candidates(self, terms: Mapping[str, float], limit: int) -> list[IndexedTool]:
        """Return the tools that match these terms best."""
        return [self._tools[tool] for tool, _ in self._ranking.find(terms, limit)]


def rank(
    tools: Sequence[IndexedTool], terms: Mapping[str, float], statistics: TermStatistics, limit: int
) -> list[tuple[str, float]]:
    """Return the keys of some of many tools with their scores, best first; ties keep their order.

    statistics: those of all tools.
    """
    ranking = _Ranking(tools, statistics, set(terms))
    return [(tools[tool].key, score) for tool, score in ranking.find(terms, limit)]


def ideal_score(terms: Mapping[str, float], statistics: TermStatistics) -> float:
    """Return the score of a tool that contains the rarest words of a query, and nothing else."""
    words = [term for term, weight in terms.items() if weight == 1.0]
    counts = sorted(statistics.counts.get(term, 0) for term in words)[:MAX_IDEAL_TERMS]
    return sum(_inverse_frequency(count, statistics.tools) for count in counts)


def selective_terms(terms: Iterable[str], statistics: TermStatistics, max_count: int) -> list[str]:
    """Return the rarest terms, as many as are needed for a full pool of candidates.

    max_count: number of tools above which a term is too common.
    """
    found, selected = 0, list[str]()
    known = [(statistics.counts.get(term, 0), term) for term in terms]
    for count, term in sorted(entry for entry in known if 0 < entry[0] <= max_count):
        if found >= CANDIDATE_POOL_SIZE:
            break
        found += count
        selected.append(term)
    return selected


class _Ranking:
    """The scores that terms add to tools."""

    def __init__(
        self,
        tools: Sequence[IndexedTool],
        statistics: TermStatistics,
        terms: Collection[str] | None = None,
    ) -> None:
        """Compute the scores of all terms, or only of some."""
        fields = [tool.fields for tool in tools]
        keys_of = _all_keys if terms is None else _selected_keys(terms)
        self.postings = _build_postings(fields, statistics, keys_of)
        self._name_shares = _build_name_shares(fields, keys_of)

    def find(self, terms: Mapping[str, float], limit: int) -> list[tuple[int, float]]:
        """Return the positions of the best tools with their scores, best first."""
        scores = self._score(terms, max(CANDIDATE_POOL_SIZE, limit))
        name_coverage: defaultdict[int, float] = defaultdict(float)
        for term in terms:
            for tool, share in self._name_shares.get(term, {}).items():
                name_coverage[tool] += share
        ranked = (
            (-score * (1 + NAME_BOOST * name_coverage.get(tool, 0.0)), tool) for tool, score in scores.items()
        )
        return [(tool, -score) for score, tool in nsmallest(limit, ranked)]

    def _score(self, terms: Mapping[str, float], pool_size: int) -> Mapping[int, float]:
        """Score tools, rare terms first; once the pool is full, common terms only add to its scores."""
        scores: dict[int, float] = {}
        known = [(self.postings[term], weight) for term, weight in terms.items() if term in self.postings]
        for postings, weight in sorted(known, key=lambda entry: len(entry[0])):
            if len(scores) < pool_size:
                for tool, score in postings.items():
                    scores[tool] = scores.get(tool, 0.0) + weight * score
            else:
                for tool in scores.keys() & postings.keys():
                    scores[tool] += weight * postings[tool]
        return scores


def _lengths(tools: Sequence[IndexedTool]) -> list[int]:
    return [sum(map(len, column)) for column in zip(*(tool.fields for tool in tools), strict=True)]


def _all_keys(term: str) -> Sequence[str]:
    """Return the keys under which a term is indexed: the term, and the group of its synonyms."""
    group = SYNONYM_GROUPS.get(term)
    return (term,) if group is None else (term, group)


def _selected_keys(selected: Collection[str]) -> KeysOf:
    """Return a function that returns only the selected keys of a term."""
    keys = {term: (group,) for term, group in SYNONYM_GROUPS.items() if group in selected}
    found = {term: (term, *keys.get(term, ())) for term in selected}
    none: Sequence[str] = ()
    by_term: Mapping[str, Sequence[str]] = keys | found
    return lambda term: by_term.get(term, none)


def _build_postings(tools: Sequence[FieldTerms], statistics: TermStatistics, keys_of: KeysOf) -> Postings:
    """Return the BM25F score that each term adds to each tool."""
    mean_lengths = statistics.mean_lengths if tools else []
    postings: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for tool, fields in enumerate(tools):
        for term, frequency in _weighted_frequencies(fields, mean_lengths, keys_of).items():
            postings[term][tool] = frequency / (TERM_SATURATION + frequency)
    for term, scores in postings.items():
        count = statistics.counts.get(term, len(scores))
        inverse_frequency = _inverse_frequency(count, statistics.tools)
        for tool in scores:
            scores[tool] *= inverse_frequency
    return postings


def _inverse_frequency(count: int, total: int) -> float:
    """Return the weight of a term that this number of tools contain."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _weighted_frequencies(
    fields: FieldTerms, mean_lengths: Sequence[float], keys_of: KeysOf
) -> Mapping[str, float]:
    frequencies: defaultdict[str, float] = defaultdict(float)
    for field, mean_length, weight, b in zip(
        fields, mean_lengths, FIELD_WEIGHTS, LENGTH_NORMALIZATION, strict=True
    ):
        normalized = weight / (1 - b + b * len(field) / mean_length) if field else 0.0
        for term in field:
            for key in keys_of(term):
                frequencies[key] += normalized
    for pair in name_pairs(fields[0]):
        if pair in keys_of(pair):
            frequencies[pair] += FIELD_WEIGHTS[0]
    return frequencies


def _build_name_shares(tools: Sequence[FieldTerms], keys_of: KeysOf) -> Postings:
    """Return which share of each tool's name a term is; a synonym shares its part equally with its group."""
    shares: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for tool, (name, *_) in enumerate(tools):
        for term in dict.fromkeys(name):
            share = 1 / len(name) / (2 if term in SYNONYM_GROUPS else 1)
            for key in keys_of(term):
                shares[key][tool] = share
    return shares
