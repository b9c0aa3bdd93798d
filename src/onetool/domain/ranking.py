"""The order of a search: what begins so, then what has the word, then what looks like it; newest first."""

from collections.abc import Sequence

from .bundle import Listed
from .search import closest, words_of

PREFIX, WORD, FUZZY = range(3)


def rank(query: str, candidates: Sequence[Listed]) -> list[Listed]:
    """Return those that match, the best first."""
    wanted = query.strip().removeprefix("+")
    words = words_of(wanted)
    if not words:
        return []
    alike = set(closest(wanted, [listed.tool.slug for listed in candidates]))
    tiers = [_tier(listed, _plain(wanted), words, index in alike) for index, listed in enumerate(candidates)]
    matching = [(tier, listed) for tier, listed in zip(tiers, candidates, strict=True) if tier is not None]
    newest_first = sorted(matching, key=lambda entry: entry[1].tool.modified_at, reverse=True)
    return [listed for _, listed in sorted(newest_first, key=lambda entry: entry[0])]


def _tier(listed: Listed, wanted: str, words: Sequence[str], is_alike: bool) -> int | None:
    tool = listed.tool
    if _plain(tool.slug).startswith(wanted) or _plain(tool.display_name).startswith(wanted):
        return PREFIX
    text = words_of(" ".join((tool.slug, tool.display_name, tool.description, *tool.tags)))
    if set(words) <= set(text):
        return WORD
    begun = all(any(one.startswith(word) for one in text) for word in words)
    return FUZZY if begun or is_alike else None


def _plain(text: str) -> str:
    """Without what a person leaves out: case, dashes, spaces."""
    return text.casefold().replace("-", "").replace(" ", "")
