"""Conditions of queries on the bundle index, each with the values that it binds."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from onetool.domain.bundles.bundle import BundleFilter
from onetool.domain.bundles.ranking import SearchPosition, SearchQuery, Tier

LAST_CHARACTER = "\U0010ffff"


class Condition(NamedTuple):
    """A condition in SQL. Values are always bound, never part of the SQL."""

    sql: str
    values: tuple[object, ...] = ()

    def __and__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql} and {other.sql})", (*self.values, *other.values))

    def __or__(self, other: "Condition") -> "Condition":
        return Condition(f"({self.sql} or {other.sql})", (*self.values, *other.values))

    def __invert__(self) -> "Condition":
        return Condition(f"not {self.sql}", self.values)


LISTED = Condition("not deleted")


def is_in(column: str, values: Collection[object]) -> Condition:
    """Match rows whose column has one of these values."""
    return Condition(f"{column} in ({','.join('?' * len(values))})", tuple(values))


def matches_bundle(filter: BundleFilter) -> Condition:
    """Match the rows of `bundles` that a filter selects."""
    condition = LISTED
    if not filter.include_disabled:
        condition &= Condition("bundles.enabled")
    if filter.bundle_ids is not None:
        condition &= is_in("bundles.id", filter.bundle_ids)
    return condition


def matches_tool(filter: BundleFilter) -> Condition:
    """Match the rows of `tools`, joined with `bundles`, that a filter selects."""
    condition = matches_bundle(filter)
    if not filter.include_disabled:
        condition &= Condition("tools.enabled")
    if filter.active_only:
        condition &= Condition("active")
    if filter.name_contains:
        condition &= _contains("pack || '.' || func", filter.name_contains)
    if filter.tags is not None:
        tagged = is_in("tag", filter.tags)
        condition &= Condition(f"tools.id in (select tool_id from tags where {tagged.sql})", tagged.values)
    return condition


def is_in_tier(tier: Tier, query: SearchQuery, similar: Collection[str], has_full_text: bool) -> Condition:
    """Match the tools of one tier, but not those of a better one."""
    starts = _starts_with("slug_key", query.prefix) | _starts_with("name_key", query.prefix)
    if tier is Tier.PREFIX:
        return starts
    has_words = _has_words(query.words, "", has_full_text)
    if tier is Tier.WORD:
        return has_words & ~starts
    is_similar = _has_words(query.words, "*", has_full_text) | is_in("slug", similar)
    return is_similar & ~has_words & ~starts


def is_after(position: SearchPosition) -> Condition:
    """Match the tools after a position in its tier."""
    return Condition("(tools.modified_at, tools.id) < (?, ?)", (position.modified_at, position.id))


def _contains(name: str, text: str) -> Condition:
    """Match names that contain a text, ignoring case. SQLite itself knows only the case of ASCII letters."""
    contains = Condition(f"contains(?, {name})", (text,))
    if not text.isascii():
        return contains
    escaped = "".join(f"\\{char}" if char in "\\%_" else char for char in text)
    like = Condition(f"({name}) like ? escape '\\'", (f"%{escaped}%",))
    is_ascii = Condition(f"length({name}) = length(cast({name} as blob))")
    return like | (~is_ascii & contains)


def _starts_with(column: str, prefix: str) -> Condition:
    return Condition(f"({column} >= ? and {column} < ?)", (prefix, prefix + LAST_CHARACTER))


def _has_words(words: Iterable[str], suffix: str, has_full_text: bool) -> Condition:
    """Match tools that have all these words, or with the suffix `*`, words that start with them."""
    if has_full_text:
        match = " ".join(f'"{word}"{suffix}' for word in words)
        return Condition("number in (select rowid from words where words match ?)", (match,))
    end = "%" if suffix else " %"
    likes = [Condition("word_list like ?", (f"% {word}{end}",)) for word in words]
    condition = likes[0]
    for like in likes[1:]:
        condition &= like
    return condition
