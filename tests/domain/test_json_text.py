"""Every value has a JSON form, or a clear refusal."""

import json
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from pydantic import BaseModel

from hypothesis_schemas import json_values
from onetool.domain.json_text import MAX_DEPTH, TooLarge, check_size, encode, is_json, jsonable, pretty


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int


class Model(BaseModel):
    when: date


class Word(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}),
        ((1, 2), [1, 2]),
        (frozenset({1}), [1]),
        (OrderedDict(a=1), {"a": 1}),
        (Colour.RED, "red"),
        (Point(1), {"x": 1}),
        (Model(when=date(2024, 1, 2)), {"when": "2024-01-02"}),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        (time(1, 2), "01:02:00"),
        (b"a\xff", "a�"),
        (2**100, 2**100),
        (float("inf"), None),
        ({1: "a", None: "b", Colour.RED: "c"}, {"1": "a", "None": "b", "red": "c"}),
        (Word("w"), "w"),
        (Point, str(Point)),
    ],
)
def test_what_json_lacks_becomes_the_nearest_thing(value, expected):
    """Sets become lists, objects their fields or their text."""
    assert json.loads(encode({"v": value})) == {"v": expected}
    assert json.loads(pretty({"v": value})) == {"v": expected}
    assert jsonable(value) == expected


@given(json_values())
def test_json_values_survive(value):
    """What is JSON already comes back as it was, except that JSON has no NaN."""
    again = json.loads(encode(value))
    if is_json(value):
        assert again == value


def test_a_circle_is_refused():
    """Something that contains itself ends in an error, not in a crash."""
    circle: dict[str, Any] = {}
    circle["again"] = circle
    with pytest.raises(ValueError, match="refers to itself"):
        encode(circle)
    assert not is_json(circle)


def test_depth_is_limited():
    """The limit is far beyond any real result."""
    deep: Any = {1, 2}
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    with pytest.raises(ValueError, match="levels deep"):
        encode(deep)


@pytest.mark.parametrize("value", [{1: 2}, {"a": date(2024, 1, 1)}, [float("nan")], {"a": {1}}, (1,), b"x"])
def test_what_is_not_json_is_told_apart(value):
    """Only JSON's own types count."""
    assert not is_json(value)


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}, {"a": [1.5, {"b": None}]}])
def test_what_is_json_is_recognised(value):
    """Empty values are values."""
    assert is_json(value)


def shared(times):
    """A value that is small in memory and has no end on paper."""
    value = ["x"]
    for _ in range(times):
        value = [value, value]
    return value


def test_what_is_shared_counts_each_time():
    """Looking at it takes no longer for that."""
    check_size(shared(5), 1_000)
    with pytest.raises(TooLarge, match="larger than 1000 bytes"):
        check_size(shared(60), 1_000)
