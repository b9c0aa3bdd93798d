"""Matching and ranking of names."""

import pytest

from onetool.domain.search.matching import contains, rank_names

NAMES = ["web.fetch", "web.fetch_batch", "fs.read_file", "firecrawl.scrape", "ot.help", "now"]
DESCRIPTIONS = [
    "Get a page.",
    "Get pages.",
    "Read a text file.",
    "Scrape a site.",
    "Explain a tool.",
    "Tell the time.",
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("web fetch", ["web.fetch", "web.fetch_batch"]),
        ("frirecrawl", ["firecrawl.scrape"]),
        ("raed flie", ["fs.read_file"]),
        ("tell time", ["now"]),
        ("what time is it now", ["now"]),
        ("FETCH", ["web.fetch", "web.fetch_batch"]),
        ("xyznonexistent", []),
        ("...", []),
        ("", []),
    ],
)
def test_most_similar_names_come_first(query, expected):
    """Names match by word, with typos, and then by their description."""
    assert [NAMES[index] for index in rank_names(query, NAMES, DESCRIPTIONS)] == expected


def test_name_without_words_never_matches():
    assert rank_names("web", ["...", "web"]) == [1]


def test_contains_is_literal_and_ignores_case():
    assert contains("A.G", "x", "a.get")
    assert not contains("a*t", "a.get")
