"""Substring, regex and fuzzy matching of names and lines."""

import re
from collections.abc import Sequence

MIN_SIMILARITY = 60.0
SUBSTRING_SCORE = 90.0
"""Score of two words of which one contains the other; equal words score 100."""
DESCRIPTION_SCORE = 65.0
"""Score of a description that contains all words of the query."""
COVERAGE_FACTOR = 0.7
"""Factor for the score of a name that matches only a part of the query."""
MIN_SUBSTRING_LENGTH = 3
"""Shorter words are contained in too many others."""
MAX_LINE_LENGTH = 2_000
WORD_PATTERN = re.compile(r"[^\W_]+")


def contains(pattern: str, *texts: str) -> bool:
    """Whether any text contains the literal pattern, ignoring case."""
    folded = pattern.casefold()
    return any(folded in text.casefold() for text in texts)


def regex_matches(pattern: str, lines: Sequence[str]) -> list[str]:
    """Return the lines that match a regular expression, in linear time.

    Raises:
        ValueError: The pattern is invalid.
    """
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False  # it would write to stderr
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        raise ValueError(f"Invalid search pattern: {text}") from None
    return [line for line in lines if compiled.search(line)]


def fuzzy_matches(query: str, lines: Sequence[str]) -> list[str]:
    """Return the lines with a part similar to the query, best first; ties by similarity of the whole line."""
    from rapidfuzz import fuzz

    lowered = query.lower()
    scored = []
    for index, line in enumerate(lines):
        best = fuzz.partial_ratio(lowered, line[:MAX_LINE_LENGTH].lower(), score_cutoff=MIN_SIMILARITY)
        if best:
            scored.append((-best, -fuzz.ratio(lowered, line[:MAX_LINE_LENGTH].lower()), index))
    return [lines[index] for _, _, index in sorted(scored)]


def rank_names(query: str, names: Sequence[str], descriptions: Sequence[str] = ()) -> list[int]:
    """Return the indexes of names similar to the query, best first.

    Names are compared word by word, because whole strings are rarely similar. A name also matches if its
    description contains all words of the query. Ties are ordered by the similarity of the whole strings.
    """
    from rapidfuzz import fuzz

    query_words = split_words(query[:MAX_LINE_LENGTH])
    if not query_words:
        return []
    similarity, joined = _Similarity(query_words), " ".join(query_words)
    scored = []
    for index, name in enumerate(names):
        words = split_words(name)
        score = max(
            similarity.of_query(words),
            COVERAGE_FACTOR * similarity.of_name(words),
            fuzz.ratio(joined, " ".join(words)),
        )
        if score < DESCRIPTION_SCORE and descriptions and _has_all(descriptions[index].lower(), query_words):
            score = DESCRIPTION_SCORE
        if score >= MIN_SIMILARITY:
            scored.append((-score, -fuzz.ratio(query.lower(), name.lower()), index))
    return [index for _, _, index in sorted(scored)]


class _Similarity:
    """Similarity of words to the words of one query; caches the scores of each word."""

    def __init__(self, query_words: Sequence[str]) -> None:
        self._query_words = query_words
        self._cache: dict[str, tuple[float, ...]] = {}

    def of_query(self, words: Sequence[str]) -> float:
        """Return the mean, over the words of the query, of the best score among `words`."""
        columns = [self._scores(word) for word in words]
        if not columns:
            return 0.0
        best = [max(column) for column in zip(*columns, strict=True)]
        return float(sum(best) / len(best))

    def of_name(self, words: Sequence[str]) -> float:
        """Return the mean, over `words`, of the best score among the words of the query."""
        best = [max(self._scores(word)) for word in words]
        return sum(best) / len(best) if best else 0.0

    def _scores(self, word: str) -> tuple[float, ...]:
        scores = self._cache.get(word)
        if scores is None:
            scores = self._cache[word] = tuple(
                _word_similarity(query_word, word) for query_word in self._query_words
            )
        return scores


def _word_similarity(first: str, second: str) -> float:
    from rapidfuzz import fuzz

    ratio: float = fuzz.ratio(first, second)
    shorter, longer = sorted((first, second), key=len)
    is_substring = len(shorter) >= MIN_SUBSTRING_LENGTH and shorter in longer
    return max(ratio, SUBSTRING_SCORE) if is_substring else ratio if ratio >= MIN_SIMILARITY else 0.0


def _has_all(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD_PATTERN.findall(text.lower())


def closest_words(query: str, words: Sequence[str], limit: int) -> list[str]:
    """Return the words most similar to the query, best first, whatever the order of their parts."""
    from rapidfuzz import fuzz, process, utils

    matches = process.extract(
        query,
        words,
        scorer=fuzz.token_sort_ratio,
        processor=utils.default_process,
        limit=limit,
        score_cutoff=MIN_SIMILARITY,
    )
    return [word for word, _score, _index in matches]
