"""Ranking of tools in a search of bundles: prefix matches, then word matches, then similar tools."""

from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from onetool.domain.search.matching import closest_words, rank_names, split_words
from onetool.domain.search.terms import SearchEntry

from .bundle import InvalidBundle, StoredTool, ToolVersion

MAX_SIMILAR_SLUGS = 50
"""How many slugs that only resemble a query match it."""


class Tier(IntEnum):
    """How well a tool matches a query, best first."""

    PREFIX = 0
    """The slug or the display name starts with the query, ignoring case, dashes and spaces."""
    WORD = 1
    """The slug, display name, description and tags contain all words of the query."""
    SIMILAR = 2
    """They contain words that start with the words of the query, or the slug resembles the query."""
    MEANING = 3
    """The description may say the same in other words."""


class SearchQuery(NamedTuple):
    """A parsed query. A query without words matches nothing."""

    text: str
    words: Sequence[str]
    prefix: str

    @classmethod
    def parse(cls, query: str) -> "SearchQuery":
        """Parse what a user typed. A leading `+`, which opens the palette of the web UI, is ignored."""
        text = query.strip().removeprefix("+")
        return cls(text, list(dict.fromkeys(split_words(text))), normalize_name(text))

    def similar_slugs(self, slugs: Iterable[str]) -> list[str]:
        """Return the slugs that resemble the query, at most MAX_SIMILAR_SLUGS."""
        return closest_words(self.text, sorted(set(slugs)), MAX_SIMILAR_SLUGS)


class SearchPosition(NamedTuple):
    """The place of a tool in the results: by tier, then newest first."""

    tier: Tier
    modified_at: str
    id: str

    def is_after(self, other: "SearchPosition") -> bool:
        """Return whether this position comes after another one."""
        return (self.tier, other.modified_at, other.id) > (other.tier, self.modified_at, self.id)

    def to_cursor(self) -> str:
        """Return the cursor of the results after this position."""
        return f"{int(self.tier)}|{self.modified_at}|{self.id}"

    @classmethod
    def from_cursor(cls, cursor: str) -> "SearchPosition":
        """Read the output of `to_cursor`.

        Raises:
            InvalidBundle: It is not a cursor of a search.
        """
        try:
            tier, modified_at, id = cursor.split("|")
            return cls(Tier(int(tier)), modified_at, id)
        except ValueError:
            raise InvalidBundle(f"Not a cursor of a search: {cursor!r}.") from None


class SearchHit(NamedTuple):
    """A tool that matches a query, and how well."""

    tier: Tier
    stored: StoredTool

    @property
    def position(self) -> SearchPosition:
        """The place of the tool in the results."""
        return SearchPosition(self.tier, self.stored.tool.modified_at, self.stored.tool.id)


def find_hits(query: SearchQuery, tools: Iterable[StoredTool], similar: Collection[str]) -> list[SearchHit]:
    """Return the tools that match a query, best first.

    similar: the slugs that resemble the query.
    """
    if not query.words:
        return []
    tiers = ((_tier(query, stored.tool, similar), stored) for stored in tools)
    return sort_hits([SearchHit(tier, stored) for tier, stored in tiers if tier is not None])


def find_virtual_hits(query: SearchQuery, tools: Sequence[StoredTool]) -> list[SearchHit]:
    """Return the tools of packs that match a query. They are few, so all slugs are compared word by word."""
    slugs = [stored.tool.slug for stored in tools]
    return find_hits(query, tools, {slugs[index] for index in rank_names(query.text, slugs)})


def sort_hits(hits: Iterable[SearchHit]) -> list[SearchHit]:
    """Sort hits, best first."""
    newest_first = sorted(hits, key=lambda hit: hit.position[1:], reverse=True)
    return sorted(newest_first, key=lambda hit: hit.tier)


def _tier(query: SearchQuery, tool: ToolVersion, similar: Collection[str]) -> Tier | None:
    if any(normalize_name(name).startswith(query.prefix) for name in (tool.slug, tool.display_name)):
        return Tier.PREFIX
    words = searchable_words(tool)
    if set(query.words) <= words:
        return Tier.WORD
    has_prefixes = all(any(word.startswith(start) for word in words) for start in query.words)
    return Tier.SIMILAR if has_prefixes or tool.slug in similar else None


def searchable_words(tool: ToolVersion) -> set[str]:
    """Return the words by which a tool is found."""
    return set(split_words(" ".join((tool.slug, tool.display_name, tool.description, *tool.tags))))


def search_entry(tool: ToolVersion) -> SearchEntry:
    """Return the texts by which a stored tool is found by what it does."""
    return SearchEntry(
        key=tool.id,
        name=tool.slug,
        description=tool.description or tool.display_name,
        parameters=tuple(map(str, tool.arg_schema.get("properties") or ())),
        tags=tool.tags,
    )


def normalize_name(text: str) -> str:
    """Remove what users tend to omit: case, dashes and spaces."""
    return text.casefold().replace("-", "").replace(" ", "")
