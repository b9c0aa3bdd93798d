"""In-memory full-text index of tools with BM25F ranking, synonyms and typo tolerance."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import pairwise

from .tokenizer import SYNONYM_GROUPS, join_pair, tokenize

FIELD_WEIGHTS = (3.0, 1.5, 0.4, 0.4, 1.0)
"""Weight of a term in the name, the first sentence, the rest of the description, the parameters, the tags."""
LENGTH_NORMALIZATION = (0.3, 0.5, 0.5, 0.5, 0.0)
"""The parameter b of BM25F by field: 0 ignores the length of a field, 1 normalizes by it fully."""
TERM_SATURATION = 1.2
"""The parameter k1 of BM25F."""
SYNONYM_WEIGHT = 0.5
"""Weight of a word of the same group as a query term."""
FUZZY_WEIGHT = 0.6
"""Weight of an indexed term that resembles an unknown query term."""
BIGRAM_WEIGHT = 0.3
"""Weight of two adjacent query terms written as one word."""
NAME_BOOST = 0.6
"""Share by which a score rises if the query contains the whole name of the tool."""
MIN_FUZZY_SIMILARITY = 80.0
MAX_FUZZY_EXPANSIONS = 2
"""Indexed terms that replace one unknown query term."""
MIN_FUZZY_LENGTH = 4
MAX_FUZZY_TERMS = 5
"""Unknown query terms that are expanded; each is compared with a part of the vocabulary."""
MAX_IDEAL_TERMS = 4
"""Query terms that a perfect match contains; long queries describe more than one tool can do."""
MAX_QUERY_LENGTH = 2_000
"""Characters of a query; the rest is ignored."""
CANDIDATE_POOL_SIZE = 300
"""Tools that match the rarer terms of a query; beyond it, commoner terms add no candidates."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=。)|\n\s*\n")

Postings = Mapping[str, Mapping[int, float]]
"""For each term, the tools that contain it, each with a weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """The searchable text of a tool."""

    key: str
    name: str
    description: str = ""
    parameters: Sequence[str] = ()
    tags: Sequence[str] = ()


class ToolIndex:
    """An immutable index of tools."""

    def __init__(self, entries: Iterable[SearchEntry]) -> None:
        listed = list(entries)
        tools = [_tokenize_fields(entry) for entry in listed]
        self._keys = [entry.key for entry in listed]
        self._postings = _build_postings(tools)
        self._name_shares = _build_name_shares(tools)
        self._vocabulary: defaultdict[str, list[str]] = defaultdict(list)
        for term in sorted(self._postings):
            self._vocabulary[term[0]].append(term)

    def find(self, query: str, limit: int) -> list[tuple[str, float]]:
        """Return the keys of matching tools with their scores, best first; ties keep the order of entries."""
        terms = self._expand(query[:MAX_QUERY_LENGTH])
        scores = self._score(terms, max(CANDIDATE_POOL_SIZE, limit))
        name_coverage: defaultdict[int, float] = defaultdict(float)
        for term in terms:
            for tool, share in self._name_shares.get(term, {}).items():
                name_coverage[tool] += share
        ranked = (
            (-score * (1 + NAME_BOOST * name_coverage.get(tool, 0.0)), tool) for tool, score in scores.items()
        )
        return [(self._keys[tool], -score) for score, tool in nsmallest(limit, ranked)]

    def ideal_score(self, query: str) -> float:
        """Return the score of a tool that contains the rarest terms of a query, and nothing else."""
        terms = set(tokenize(query[:MAX_QUERY_LENGTH]))
        counts = sorted(len(self._postings.get(term, ())) for term in terms)[:MAX_IDEAL_TERMS]
        return sum(_inverse_frequency(count, len(self._keys)) for count in counts)

    def _score(self, terms: Mapping[str, float], pool_size: int) -> Mapping[int, float]:
        """Score tools, rare terms first; once the pool is full, common terms only add to its scores."""
        scores: dict[int, float] = {}
        known = [(self._postings[term], weight) for term, weight in terms.items() if term in self._postings]
        for postings, weight in sorted(known, key=lambda entry: len(entry[0])):
            if len(scores) < pool_size:
                for tool, score in postings.items():
                    scores[tool] = scores.get(tool, 0.0) + weight * score
            else:
                for tool in scores.keys() & postings.keys():
                    scores[tool] += weight * postings[tool]
        return scores

    def _expand(self, query: str) -> dict[str, float]:
        """Return the terms to look up with their weights: query terms, synonyms, bigrams, corrected typos."""
        query_terms = list(dict.fromkeys(tokenize(query)))
        terms = {SYNONYM_GROUPS[term]: SYNONYM_WEIGHT for term in query_terms if term in SYNONYM_GROUPS}
        terms |= dict.fromkeys(map(join_pair, pairwise(query_terms)), BIGRAM_WEIGHT)
        unknown = [
            term for term in query_terms if term not in self._postings and len(term) >= MIN_FUZZY_LENGTH
        ]
        for term in unknown[:MAX_FUZZY_TERMS]:
            terms |= dict.fromkeys(self._similar_terms(term), FUZZY_WEIGHT)
        return terms | dict.fromkeys(query_terms, 1.0)

    def _similar_terms(self, term: str) -> list[str]:
        """Return indexed terms similar to a misspelled one; typos in the first letter are rare."""
        from rapidfuzz import fuzz, process

        candidates = self._vocabulary.get(term[0], ())
        matches = process.extract(
            term,
            candidates,
            scorer=fuzz.ratio,
            limit=MAX_FUZZY_EXPANSIONS,
            score_cutoff=MIN_FUZZY_SIMILARITY,
        )
        return [match for match, _score, _index in matches]


def _tokenize_fields(entry: SearchEntry) -> list[list[str]]:
    """Return the terms of each field, in the order of FIELD_WEIGHTS."""
    summary, *rest = SENTENCE_END.split(entry.description.strip(), maxsplit=1)
    texts = (entry.name, summary, *(rest or [""]), " ".join(entry.parameters), " ".join(entry.tags))
    return [tokenize(text) for text in texts]


def _build_postings(tools: Sequence[list[list[str]]]) -> Postings:
    """Return the BM25F score that each term adds to each tool."""
    mean_lengths = [sum(map(len, column)) / len(tools) for column in zip(*tools, strict=True)]
    postings: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for tool, fields in enumerate(tools):
        for term, frequency in _weighted_frequencies(fields, mean_lengths).items():
            postings[term][tool] = frequency / (TERM_SATURATION + frequency)
    for scores in postings.values():
        inverse_frequency = _inverse_frequency(len(scores), len(tools))
        for tool in scores:
            scores[tool] *= inverse_frequency
    return postings


def _inverse_frequency(count: int, total: int) -> float:
    """Return the weight of a term that this number of tools contain."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _weighted_frequencies(fields: Sequence[list[str]], mean_lengths: Sequence[float]) -> Mapping[str, float]:
    frequencies: defaultdict[str, float] = defaultdict(float)
    for terms, mean_length, weight, b in zip(
        fields, mean_lengths, FIELD_WEIGHTS, LENGTH_NORMALIZATION, strict=True
    ):
        normalized = weight / (1 - b + b * len(terms) / mean_length) if terms else 0.0
        for term in terms:
            frequencies[term] += normalized
            if term in SYNONYM_GROUPS:
                frequencies[SYNONYM_GROUPS[term]] += normalized
    for pair in pairwise(fields[0]):
        frequencies[join_pair(pair)] += FIELD_WEIGHTS[0]
    return frequencies


def _build_name_shares(tools: Sequence[list[list[str]]]) -> Postings:
    """Return which share of each tool's name a term is; a synonym shares its part equally with its group."""
    shares: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for tool, (name, *_) in enumerate(tools):
        for term in dict.fromkeys(name):
            share = 1 / len(name)
            if term in SYNONYM_GROUPS:
                share /= 2
                shares[SYNONYM_GROUPS[term]][tool] = share
            shares[term][tool] = share
    return shares
