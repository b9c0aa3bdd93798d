"""Which matches of a query are close enough to show."""

from collections.abc import Sequence
from typing import NamedTuple

MIN_SCORE_SHARE = 0.3
"""Score of a close match by words, as a share of the best one. The figures are measured: see decision 10."""
MIN_SIMILARITY, MIN_SIMILARITY_SHARE = 0.2, 0.5
"""Similarity of a close match by meaning, and its share of the best one."""
MIN_BEST_FIT, MIN_BEST_SIMILARITY = 0.15, 0.35
"""Share of the ideal score, or similarity, below which not even the best match is close."""
MAX_NEAREST = 5
"""Matches that are named if none is close."""


class Match(NamedTuple):
    """A tool that matches a query, with its score by words and its similarity of meaning; 0 for none."""

    key: str
    score: float = 0.0
    similarity: float = 0.0


class CloseMatches(NamedTuple):
    """The keys of the matches to show, best first, and whether they are close or only the nearest."""

    keys: Sequence[str]
    is_close: bool


def close_matches(matches: Sequence[Match], ideal_score: float) -> CloseMatches:
    """Select the close matches, or the nearest few if none is close; in the given order.

    Args:
        matches: Ranked matches.
        ideal_score: The score of a tool that fits the query perfectly.
    """
    best_score = max((match.score for match in matches), default=0.0)
    best_similarity = max((match.similarity for match in matches), default=0.0)
    if best_score < MIN_BEST_FIT * ideal_score and best_similarity < MIN_BEST_SIMILARITY:
        return CloseMatches([match.key for match in matches[:MAX_NEAREST]], not matches)
    min_score = max(MIN_SCORE_SHARE * best_score, 1e-9)
    min_similarity = max(MIN_SIMILARITY, MIN_SIMILARITY_SHARE * best_similarity)
    close = [match for match in matches if match.score >= min_score or match.similarity >= min_similarity]
    return CloseMatches([match.key for match in close], True)
