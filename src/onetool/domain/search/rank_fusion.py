"""Reciprocal rank fusion of a lexical and a semantic ranking of tools."""

from collections import defaultdict
from collections.abc import Sequence

from .tokenizer import CAMEL_CASE_BOUNDARY, WORD_PATTERN
from .tool_index import SENTENCE_END, SearchEntry

SEMANTIC_WEIGHT = 0.8
"""Weight of the semantic ranking; the lexical ranking has the rest."""
RANK_CONSTANT = 20
"""The constant k of reciprocal rank fusion; a larger one flattens the difference between ranks."""
MIN_SIMILARITY = 0.2
"""Similarity from which a semantic match counts; meaningless queries score just below it."""


def entry_text(entry: SearchEntry) -> str:
    """Return the text of a tool to embed: tags and name as words, then the first sentence."""
    words = " ".join((*entry.tags, *WORD_PATTERN.findall(CAMEL_CASE_BOUNDARY.sub(" ", entry.name))))
    return f"{words}: {SENTENCE_END.split(entry.description.strip(), maxsplit=1)[0]}"


def fuse(lexical: Sequence[str], semantic: Sequence[tuple[str, float]], limit: int) -> list[str]:
    """Return the keys of both rankings, best first.

    Only ranks count, because scores of different rankings are not comparable. `semantic` pairs each key
    with its similarity.
    """
    similar = [key for key, similarity in semantic if similarity >= MIN_SIMILARITY]
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking, weight in ((lexical, 1 - SEMANTIC_WEIGHT), (similar, SEMANTIC_WEIGHT)):
        for rank, key in enumerate(ranking, 1):
            scores[key] += weight / (RANK_CONSTANT + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:limit]
