"""What is found, and in which order."""

import pytest

from onetool.domain.search import closest, contains

NAMES = ["web.fetch", "web.fetch_batch", "fs.read_file", "firecrawl.scrape", "ot.help", "now"]
TEXTS = [
    "Get a page.",
    "Get pages.",
    "Read a text file.",
    "Scrape a site.",
    "Explain a tool.",
    "Tell the time.",
]


@pytest.mark.parametrize(
    ("query", "found"),
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
def test_the_nearest_names_come_first(query, found):
    """By the words of the name, typos forgiven, then by the description."""
    assert [NAMES[index] for index in closest(query, NAMES, TEXTS)] == found


def test_a_name_without_words_is_like_nothing():
    """A name of signs alone is passed over."""
    assert closest("web", ["...", "web"]) == [1]


def test_containing_is_literal():
    """No sign of a pattern means anything; case does not matter."""
    assert contains("A.G", "x", "a.get")
    assert not contains("a*t", "a.get")
