"""Fusion of a lexical and a semantic ranking of tools."""

from collections.abc import Mapping

from .terms import SENTENCE_END, SearchEntry
from .tokenizer import CAMEL_CASE_BOUNDARY, WORD_PATTERN

LEXICAL_WEIGHT = 0.3
"""Weight of a perfect match by words, compared with a similarity of 1. See decision 10."""
MIN_SIMILARITY = 0.2
"""Similarity from which a semantic match counts; meaningless queries score just below it."""


def entry_texts(entry: SearchEntry) -> tuple[str, ...]:
    """Return the texts of a tool to embed: tags and name as words, and the first sentence if there is one."""
    words = " ".join((*entry.tags, *WORD_PATTERN.findall(CAMEL_CASE_BOUNDARY.sub(" ", entry.name))))
    sentence = SENTENCE_END.split(entry.description.strip(), maxsplit=1)[0]
    return (words, sentence) if sentence else (words,)


def fuse(
    lexical: Mapping[str, float], semantic: Mapping[str, float], ideal_score: float, limit: int
) -> list[str]:
    """Return the keys of both rankings, best first: by similarity plus the weighted share of the ideal score.

    Args:
        lexical: The scores of the best matches by words.
        semantic: The similarities of the closest matches by meaning.
        ideal_score: The score of a tool that fits the query perfectly.
        limit: Maximum number of keys.
    """
    similar = [key for key, similarity in semantic.items() if similarity >= MIN_SIMILARITY]
    least = min(semantic.values(), default=0.0)  # a tool that is not listed is at most as similar

    def score(key: str) -> float:
        share = min(lexical[key] / ideal_score, 1.0) if key in lexical else 0.0
        return semantic.get(key, least) + LEXICAL_WEIGHT * share

    return sorted(dict.fromkeys((*similar, *lexical)), key=score, reverse=True)[:limit]
