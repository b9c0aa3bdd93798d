"""Values that a server suggests for an argument."""

import pytest

from onetool.domain.servers.completion import MAX_VALUES, completion_values


@pytest.mark.parametrize(
    ("result", "values", "has_more"),
    [
        ({"completion": {"values": ["a", "b"], "hasMore": True}}, ["a", "b"], True),
        ({"completion": {"values": ["a", 1, None], "hasMore": "yes"}}, ["a"], False),
        ({"completion": {"values": ["a"] * (MAX_VALUES + 1)}}, ["a"] * MAX_VALUES, True),
        ({"completion": {"values": "abc"}}, [], False),
        ({"completion": []}, [], False),
        ({}, [], False),
    ],
)
def test_only_texts_up_to_the_limit_are_used(result, values, has_more):
    assert completion_values(result) == (values, has_more)
