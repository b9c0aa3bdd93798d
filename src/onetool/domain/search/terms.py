"""The terms of tools and queries, and how common they are."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from .tokenizer import SYNONYM_GROUPS, join_pair, tokenize

SYNONYM_WEIGHT = 0.5
"""Weight of a word of the same group as a query term."""
FUZZY_WEIGHT = 0.6
"""Weight of an indexed term that resembles an unknown query term."""
BIGRAM_WEIGHT = 0.3
"""Weight of two adjacent query terms written as one word."""
MIN_FUZZY_SIMILARITY = 80.0
MAX_FUZZY_EXPANSIONS = 2
"""Indexed terms that replace one unknown query term."""
MIN_FUZZY_LENGTH = 4
MAX_FUZZY_TERMS = 5
"""Unknown query terms that are expanded; each is compared with a part of the vocabulary."""
MAX_QUERY_LENGTH = 2_000
"""Characters of a query; the rest is ignored."""
SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=。)|\n\s*\n")

FieldTerms = Sequence[Sequence[str]]
"""The terms of the name, the first sentence, the rest of the description, the parameters and the tags."""
FIELD_COUNT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """The searchable text of a tool."""

    key: str
    name: str
    description: str = ""
    parameters: Sequence[str] = ()
    tags: Sequence[str] = ()

    def terms(self) -> list[list[str]]:
        """Return the terms of each field."""
        summary, *rest = SENTENCE_END.split(self.description.strip(), maxsplit=1)
        texts = (self.name, summary, *(rest or [""]), " ".join(self.parameters), " ".join(self.tags))
        return [tokenize(text) for text in texts]


class IndexedTool(NamedTuple):
    """A tool and the terms of its fields."""

    key: str
    fields: FieldTerms


class TermStatistics(NamedTuple):
    """How many tools there are, how many terms their fields have, and how many tools contain each term."""

    tools: int
    lengths: Sequence[int]
    counts: Mapping[str, int]
    """Terms that no tool contains are missing or 0."""

    @property
    def mean_lengths(self) -> list[float]:
        """The mean number of terms of each field."""
        return [length / self.tools for length in self.lengths]

    def plus(self, other: "TermStatistics") -> "TermStatistics":
        """Return the statistics of the tools of both."""
        terms = {**self.counts, **other.counts}
        return TermStatistics(
            self.tools + other.tools,
            [mine + others for mine, others in zip(self.lengths, other.lengths, strict=True)],
            {term: self.counts.get(term, 0) + other.counts.get(term, 0) for term in terms},
        )


NO_TOOLS = TermStatistics(0, (0,) * FIELD_COUNT, {})


def index_terms(terms: Sequence[str]) -> list[str]:
    """Return the terms of a field with the synonym groups of these terms: all by which a tool is found."""
    return [*terms, *(SYNONYM_GROUPS[term] for term in terms if term in SYNONYM_GROUPS)]


def name_pairs(name: Sequence[str]) -> list[str]:
    """Return each two adjacent terms of a name as one word."""
    return [join_pair(pair) for pair in pairwise(name)]


def query_terms(query: str) -> dict[str, float]:
    """Return the terms of a query with their weights: its words, their synonyms, and two words as one."""
    words = list(dict.fromkeys(tokenize(query[:MAX_QUERY_LENGTH])))
    terms = {SYNONYM_GROUPS[word]: SYNONYM_WEIGHT for word in words if word in SYNONYM_GROUPS}
    return terms | dict.fromkeys(name_pairs(words), BIGRAM_WEIGHT) | dict.fromkeys(words, 1.0)


def unknown_terms(terms: Mapping[str, float], is_known: Callable[[str], object]) -> list[str]:
    """Return the words of a query that may be misspelled, because no tool contains them."""
    words = [term for term, weight in terms.items() if weight == 1.0 and len(term) >= MIN_FUZZY_LENGTH]
    return [word for word in words if not is_known(word)][:MAX_FUZZY_TERMS]


def similar_terms(term: str, vocabulary: Iterable[str]) -> list[str]:
    """Return the terms that a misspelled one may stand for, most similar first."""
    from rapidfuzz import fuzz, process

    matches = process.extract(
        term,
        list(vocabulary),
        scorer=fuzz.ratio,
        limit=MAX_FUZZY_EXPANSIONS,
        score_cutoff=MIN_FUZZY_SIMILARITY,
    )
    return [match for match, _score, _index in matches]
