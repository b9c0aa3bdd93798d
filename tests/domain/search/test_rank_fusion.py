"""Fusion of a lexical and a semantic ranking."""

from onetool.domain.search.rank_fusion import MIN_SIMILARITY, entry_texts, fuse
from onetool.domain.search.terms import SearchEntry


def test_similarity_and_share_of_the_ideal_score_are_added():
    """Keys in only one ranking are not lost."""
    lexical = {"lexical": 5.0, "both": 5.0}
    semantic = {"near": 0.8, "both": 0.7, "far": MIN_SIMILARITY - 0.01}
    assert fuse(lexical, semantic, 10.0, 10) == ["both", "near", "lexical"]
    assert fuse(lexical, semantic, 10.0, 1) == ["both"]


def test_good_match_by_words_outranks_a_distant_match_by_meaning():
    assert fuse({"words": 10.0}, {"meaning": 0.4, "words": 0.2}, 10.0, 2) == ["words", "meaning"]
    assert fuse({"words": 1.0}, {"meaning": 0.4, "words": 0.2}, 10.0, 2) == ["meaning", "words"]


def test_score_above_the_ideal_one_counts_as_ideal():
    assert fuse({"a": 10.0, "b": 99.0}, {"a": 0.5, "b": 0.4}, 10.0, 2) == ["a", "b"]


def test_tool_that_is_not_listed_is_as_similar_as_the_last_one():
    assert fuse({"words": 2.0}, {"near": 0.9, "last": 0.5}, 10.0, 3) == ["near", "words", "last"]


def test_semantic_matches_below_the_minimum_similarity_are_ignored():
    assert fuse({"a": 3.0, "b": 2.0, "c": 1.0}, {"d": 0.1}, 10.0, 10) == ["a", "b", "c"]
    assert fuse({}, {"c": 0.1}, 0.0, 10) == []
    assert fuse({}, {"c": MIN_SIMILARITY}, 0.0, 10) == ["c"]


def test_entry_texts_are_tags_with_name_and_first_sentence():
    entry = SearchEntry(
        key="k",
        name="fs.readTextFile_now",
        description=" Read it.\nThen more. And more.",
        tags=("files", "io"),
    )
    assert entry_texts(entry) == ("files io fs read Text File now", "Read it.")
    assert entry_texts(SearchEntry(key="k", name="x")) == ("x",)
