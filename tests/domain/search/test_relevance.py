"""Selection of close matches."""

import pytest

from onetool.domain.search.relevance import Match, close_matches
from onetool.domain.search.terms import SearchEntry
from onetool.domain.search.tool_index import ToolIndex


@pytest.mark.parametrize(
    ("matches", "keys", "is_close"),
    [
        ([], [], True),
        ([Match("a", 5.0), Match("b", 1.6), Match("c", 1.4)], ["a", "b"], True),
        ([Match(key, 1.0) for key in "abcdefg"], ["a", "b", "c", "d", "e"], False),
        ([Match("a", 0.0, 0.6), Match("b", 0.0, 0.31), Match("c", 0.0, 0.29)], ["a", "b"], True),
        ([Match("a", 0.0, 0.36), Match("b", 0.0, 0.19), Match("c", 0.0, 0.21)], ["a", "c"], True),
        ([Match("a", 0.0, 0.34)], ["a"], False),
        ([Match("a", 0.5, 0.9), Match("b", 5.0, 0.1), Match("c", 0.5, 0.1)], ["a", "b"], True),
    ],
)
def test_weak_matches_are_cut(matches, keys, is_close):
    """A match is close by words or by meaning. If none is, the nearest five are named."""
    assert close_matches(matches, ideal_score=10.0) == (keys, is_close)


def test_ideal_score_counts_the_rarest_terms():
    """Words that no tool contains make a match less close; long queries are not punished for their length."""
    index = ToolIndex([SearchEntry(key=f"k{n}", name=f"common rare{n}") for n in range(10)])
    known, unknown = index.ideal_score("rare1"), index.ideal_score("zebra")
    assert 0 < index.ideal_score("common") < known < unknown
    assert index.ideal_score("zebra zebra common") == pytest.approx(unknown + index.ideal_score("common"))
    assert index.ideal_score("z1 z2 z3 z4 z5 z6 common") == pytest.approx(4 * unknown)
    assert index.ideal_score("") == 0
