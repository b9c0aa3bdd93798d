"""Fusion of a lexical and a semantic ranking."""

from onetool.domain.search.rank_fusion import MIN_SIMILARITY, entry_text, fuse
from onetool.domain.search.tool_index import SearchEntry


def test_keys_in_both_rankings_come_first():
    """The semantic ranking counts more, and keys in only one ranking are not lost."""
    semantic = [("near", 0.9), ("both", 0.8), ("far", MIN_SIMILARITY - 0.01)]
    assert fuse(["lexical", "both"], semantic, 10) == ["both", "near", "lexical"]
    assert fuse(["lexical", "both"], semantic, 1) == ["both"]


def test_semantic_matches_below_the_minimum_similarity_are_ignored():
    assert fuse(["a", "b", "c"], [("c", 0.1)], 10) == ["a", "b", "c"]
    assert fuse([], [("c", 0.1)], 10) == []
    assert fuse([], [("c", MIN_SIMILARITY)], 10) == ["c"]


def test_entry_text_has_tags_name_and_first_sentence():
    entry = SearchEntry(
        key="k",
        name="fs.readTextFile_now",
        description=" Read it.\nThen more. And more.",
        tags=("files", "io"),
    )
    assert entry_text(entry) == "files io fs read Text File now: Read it."
    assert entry_text(SearchEntry(key="k", name="x")) == "x: "
