"""Ways to find something among many: what contains it, what matches a pattern, what looks like it."""

import re
from collections.abc import Sequence

CLOSE_ENOUGH = 60.0
INSIDE = 90.0
"""What one word counts that contains the other; the same word counts 100."""
DESCRIBED = 65.0
"""What a description counts that has all the words."""
COVERED = 0.7
"""What a name counts that is only a part of the query."""
SHORTEST = 3
"""Shorter words are inside of too many others to mean anything."""
LONGEST_LINE = 2_000
WORDS = re.compile(r"[^\W_]+")


def contains(pattern: str, *texts: str) -> bool:
    """Whether any of the texts contains the pattern, letter for letter but for case."""
    wanted = pattern.casefold()
    return any(wanted in text.casefold() for text in texts)


def matching(pattern: str, lines: Sequence[str]) -> list[str]:
    """Lines in which a pattern of linear time is found.

    Raises ValueError for a pattern that cannot be read.
    """
    import re2  # type: ignore[import-untyped]

    try:
        compiled = re2.compile(pattern)
    except re2.error as error:
        raise ValueError(f"search is not a valid pattern: {error}") from None
    return [line for line in lines if compiled.search(line)]


def alike(wanted: str, lines: Sequence[str]) -> list[str]:
    """Lines that hold something like this, the best first: by their best part, then as a whole."""
    from rapidfuzz import fuzz

    lowered = wanted.lower()
    scored = []
    for index, line in enumerate(lines):
        best = fuzz.partial_ratio(lowered, line[:LONGEST_LINE].lower(), score_cutoff=CLOSE_ENOUGH)
        if best:
            scored.append((-best, -fuzz.ratio(lowered, line[:LONGEST_LINE].lower()), index))
    return [lines[index] for _, _, index in sorted(scored)]


def closest(query: str, names: Sequence[str], descriptions: Sequence[str] = ()) -> list[int]:
    """Positions of the names that look like the query, or whose descriptions have its words; best first.

    A name is taken apart at dots, dashes and underscores, and each word of the query looks for its best
    counterpart: whole strings would hardly resemble each other. Ties: the more similar whole, then the order.
    """
    from rapidfuzz import fuzz

    wanted = words_of(query[:LONGEST_LINE])
    if not wanted:
        return []
    likeness, joined = _Likeness(wanted), " ".join(wanted)
    scored = []
    for index, name in enumerate(names):
        words = words_of(name)
        score = max(
            likeness.of(words), COVERED * likeness.covered(words), fuzz.ratio(joined, " ".join(words))
        )
        if score < DESCRIBED and descriptions and _has_all(descriptions[index].lower(), wanted):
            score = DESCRIBED
        if score >= CLOSE_ENOUGH:
            scored.append((-score, -fuzz.ratio(query.lower(), name.lower()), index))
    return [index for _, _, index in sorted(scored)]


class _Likeness:
    """How much words look like those of one query; every word is compared once, however often it comes."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self._wanted = wanted
        self._known: dict[str, tuple[float, ...]] = {}

    def of(self, words: Sequence[str]) -> float:
        """The mean, over the words of the query, of each one's best counterpart."""
        columns = [self._scores(word) for word in words]
        if not columns:
            return 0.0
        best = [max(column) for column in zip(*columns, strict=True)]
        return float(sum(best) / len(best))

    def covered(self, words: Sequence[str]) -> float:
        """The other way round: the mean, over these words, of each one's best counterpart in the query."""
        best = [max(self._scores(word)) for word in words]
        return sum(best) / len(best) if best else 0.0

    def _scores(self, word: str) -> tuple[float, ...]:
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = tuple(_alike_words(one, word) for one in self._wanted)
        return found


def _alike_words(one: str, other: str) -> float:
    from rapidfuzz import fuzz

    ratio: float = fuzz.ratio(one, other)
    shorter, longer = sorted((one, other), key=len)
    is_inside = len(shorter) >= SHORTEST and shorter in longer
    return max(ratio, INSIDE) if is_inside else ratio if ratio >= CLOSE_ENOUGH else 0.0


def _has_all(text: str, words: Sequence[str]) -> bool:
    return all(word in text for word in words)


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return WORDS.findall(text.lower())


def closest_words(query: str, words: Sequence[str], limit: int) -> list[str]:
    """The words that look most like the query, typos forgiven."""
    from rapidfuzz import fuzz, process

    lowered = [word.lower() for word in words]
    found = process.extract(query.lower(), lowered, scorer=fuzz.ratio, limit=limit, score_cutoff=CLOSE_ENOUGH)
    return [words[index] for _word, _score, index in found]
