"""Two rankings become one."""

from onetool.domain.finding import Entry
from onetool.domain.finding_mix import NEAR, mix, text_of


def test_what_both_rankings_have_comes_first():
    """Places count, not scores; meaning counts more; what only words found is not lost."""
    by_meaning = [("near", 0.9), ("both", 0.8), ("far", NEAR - 0.01)]
    assert mix(["words", "both"], by_meaning, 10) == ["both", "near", "words"]
    assert mix(["words", "both"], by_meaning, 1) == ["both"]


def test_nothing_near_leaves_the_words_as_they_are():
    """A query of which no meaning is known is answered as ever; no sense at all, nothing at all."""
    assert mix(["a", "b", "c"], [("c", 0.1)], 10) == ["a", "b", "c"]
    assert mix([], [("c", 0.1)], 10) == []
    assert mix([], [("c", NEAR)], 10) == ["c"]


def test_a_tool_in_a_few_words():
    """Tags, the name as words, the first sentence; the rest would blur it."""
    entry = Entry(
        key="k",
        name="fs.readTextFile_now",
        description=" Read it.\nThen more. And more.",
        tags=("files", "io"),
    )
    assert text_of(entry) == "files io fs read Text File now: Read it."
    assert text_of(Entry(key="k", name="x")) == "x: "
