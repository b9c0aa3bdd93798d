"""Tiers, order and cursors of a search."""

import pytest

from onetool.domain.bundles.bundle import Bundle, InvalidBundle, StoredTool, ToolVersion
from onetool.domain.bundles.ranking import (
    MAX_SIMILAR_SLUGS,
    SearchPosition,
    SearchQuery,
    Tier,
    find_hits,
    find_virtual_hits,
)

BUNDLE = Bundle(id="b", slug="b")


def stored(slug: str, modified_at: str = "", **fields: object) -> StoredTool:
    tool = ToolVersion(
        id=slug,
        bundle_id="b",
        slug=slug,
        version="1",
        type="http",
        arg_schema={},
        modified_at=modified_at,
        **fields,
    )
    return StoredTool(tool, BUNDLE, f"b.{slug}")


@pytest.mark.parametrize(
    ("query", "tool", "tier"),
    [
        ("read", stored("readfile"), Tier.PREFIX),
        ("Read F", stored("read-file"), Tier.PREFIX),
        ("+readf", stored("read-file"), Tier.PREFIX),
        ("open", stored("x", display_name="Open it"), Tier.PREFIX),
        ("read", stored("file-read"), Tier.WORD),
        ("disk read", stored("x", description="Read a disk."), Tier.WORD),
        ("disk", stored("x", tags=("Disk",)), Tier.WORD),
        ("dis rea", stored("x", description="Read a disk."), Tier.SIMILAR),
        ("similar", stored("near"), Tier.SIMILAR),
        ("other", stored("x"), None),
        ("...", stored("x"), None),
        ("", stored("x"), None),
    ],
)
def test_tier_of_a_tool(query, tool, tier):
    hits = find_hits(SearchQuery.parse(query), [tool], similar={"near"})
    assert [hit.tier for hit in hits] == ([] if tier is None else [tier])


def test_equal_matches_are_ordered_newest_first():
    """Then by id, so that the order is the same in every page."""
    tools = [stored("read-1", "1"), stored("x-read", "9"), stored("read-2", "2"), stored("read-3", "2")]
    hits = find_hits(SearchQuery.parse("read"), tools, ())
    assert [hit.stored.tool.slug for hit in hits] == ["read-3", "read-2", "read-1", "x-read"]
    positions = [hit.position for hit in hits]
    for index, position in enumerate(positions):
        assert [other.is_after(position) for other in positions] == [n > index for n in range(4)]


def test_similar_slugs_are_limited():
    """The most similar ones, whatever the order of their words."""
    slugs = [f"read-file-{number}" for number in range(100)]
    query = SearchQuery.parse("file read")
    assert query.similar_slugs(["read-file", "zebra", *slugs])[0] == "read-file"
    assert len(query.similar_slugs(slugs)) == MAX_SIMILAR_SLUGS


def test_slugs_of_packs_are_compared_word_by_word():
    hits = find_virtual_hits(SearchQuery.parse("read the file"), [stored("read"), stored("zebra")])
    assert [hit.stored.tool.slug for hit in hits] == ["read"]


def test_cursor_round_trips():
    position = SearchPosition(Tier.WORD, "2026-01-02T03:04:05.000000Z", "id")
    assert SearchPosition.from_cursor(position.to_cursor()) == position


@pytest.mark.parametrize("cursor", ["", "1", "1|2", "x|y|z", "9|a|b", "1|a|b|c"])
def test_invalid_cursor_is_rejected(cursor):
    with pytest.raises(InvalidBundle, match="Not a cursor"):
        SearchPosition.from_cursor(cursor)
