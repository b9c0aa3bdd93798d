"""Ranking of stored tools in a search: prefix matches, then word matches, then fuzzy matches."""

from collections.abc import Sequence

from onetool.domain.search.matching import rank_names, split_words

from .bundle import StoredTool

PREFIX, WORD, FUZZY = range(3)


def rank_tools(query: str, candidates: Sequence[StoredTool]) -> list[StoredTool]:
    """Return the candidates that match, best first; equal matches are ordered newest first."""
    text = query.strip().removeprefix("+")
    words = split_words(text)
    if not words:
        return []
    similar = set(rank_names(text, [candidate.tool.slug for candidate in candidates]))
    prefix = _normalize(text)
    tiers = [_tier(candidate, prefix, words, index in similar) for index, candidate in enumerate(candidates)]
    matches = [
        (tier, candidate) for tier, candidate in zip(tiers, candidates, strict=True) if tier is not None
    ]
    newest_first = sorted(matches, key=lambda match: match[1].tool.modified_at, reverse=True)
    return [candidate for _, candidate in sorted(newest_first, key=lambda match: match[0])]


def _tier(candidate: StoredTool, prefix: str, words: Sequence[str], is_similar: bool) -> int | None:
    tool = candidate.tool
    if _normalize(tool.slug).startswith(prefix) or _normalize(tool.display_name).startswith(prefix):
        return PREFIX
    tool_words = split_words(" ".join((tool.slug, tool.display_name, tool.description, *tool.tags)))
    if set(words) <= set(tool_words):
        return WORD
    has_prefixes = all(any(tool_word.startswith(word) for tool_word in tool_words) for word in words)
    return FUZZY if has_prefixes or is_similar else None


def _normalize(text: str) -> str:
    """Remove what users tend to omit: case, dashes and spaces."""
    return text.casefold().replace("-", "").replace(" ", "")
