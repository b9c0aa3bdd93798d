"""Substring, regex and fuzzy matching of names and lines."""

import re
from collections.abc import Sequence
from operator import itemgetter

MIN_SIMILARITY = 60.0
SUBSTRING_SCORE = 90.0
"""Score of two words of which one contains the other; equal words score 100."""
DESCRIPTION_SCORE = 65.0
"""Score of a description that contains all words of the query."""
COVERAGE_FACTOR = 0.7
"""Factor for the score of a name that matches only a part of the query."""
MIN_SUBSTRING_LENGTH = 3
"""Shorter words are contained in too many others."""
MIN_SUBSTRING_SHARE = 0.5
"""Part of a word that another one in it must have: `one` is no part of `nonexistent`. Beginnings count."""
MAX_TYPO_SHARE = 0.3
"""Part of a word that may be mistyped: `timr` means `time`, `timber` does not."""
MAX_LINE_LENGTH = 2_000
"""Longer lines are compared in parts of this length."""
WORD_PATTERN = re.compile(r"[^\W_]+")


def contains(pattern: str, *texts: str) -> bool:
    """Whether any text contains the literal pattern, ignoring case."""
    folded = pattern.casefold()
    return any(folded in text.casefold() for text in texts)


def regex_matches(pattern: str, lines: Sequence[str]) -> list[int]:
    """Return the indexes of the lines that match a regular expression, in linear time.

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
    return [index for index, line in enumerate(lines) if compiled.search(line)]


def fuzzy_matches(query: str, lines: Sequence[str]) -> list[int]:
    """Return the indexes of the lines with a part similar to the query, best first.

    Ties are ordered by the similarity of the whole line, or of the most similar part of a long one.
    """
    from rapidfuzz import fuzz

    lowered = query.lower()
    scored = []
    for index, line in enumerate(lines):
        parts = _parts(line.lower(), len(lowered))
        ratios = [(fuzz.partial_ratio(lowered, part, score_cutoff=MIN_SIMILARITY), part) for part in parts]
        best, part = max(ratios, key=itemgetter(0))
        if best:
            scored.append((-best, -fuzz.ratio(lowered, part), index))
    return [index for _, _, index in sorted(scored)]


def _parts(line: str, overlap: int) -> list[str]:
    """Return the parts of a line. They overlap, so that none cuts a match of the query in two."""
    starts = range(0, max(1, len(line)), MAX_LINE_LENGTH)
    return [line[start : start + MAX_LINE_LENGTH + overlap] for start in starts]


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
            _typo_ratio(joined, " ".join(words)),
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

    shorter, longer = sorted((first, second), key=len)
    is_part = shorter in longer and len(shorter) >= MIN_SUBSTRING_SHARE * len(longer)
    if len(shorter) >= MIN_SUBSTRING_LENGTH and (is_part or longer.startswith(shorter)):
        return max(fuzz.ratio(first, second), SUBSTRING_SCORE)
    ratio = _typo_ratio(first, second)
    return ratio if ratio >= MIN_SIMILARITY else 0.0


def _typo_ratio(first: str, second: str) -> float:
    """Return the similarity of two texts if one could be the other one mistyped, otherwise 0."""
    from rapidfuzz import fuzz
    from rapidfuzz.distance import OSA

    is_typo = OSA.normalized_distance(first, second, score_cutoff=MAX_TYPO_SHARE) <= MAX_TYPO_SHARE
    return fuzz.ratio(first, second) if is_typo else 0.0


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
