"""Conversion of Python values to JSON."""

import json
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from pydantic import BaseModel

from onetool.domain.text.json_text import (
    MAX_DEPTH,
    TooLarge,
    check_size,
    describe_invalid_json,
    encode,
    is_json,
    jsonable,
    pretty,
)
from support.hypothesis_schemas import json_values


class Color(Enum):
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
        (Color.RED, "red"),
        (Point(1), {"x": 1}),
        (Model(when=date(2024, 1, 2)), {"when": "2024-01-02"}),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        (time(1, 2), "01:02:00"),
        (b"a\xff", "a�"),
        (2**100, 2**100),
        (float("inf"), None),
        ({1: "a", None: "b", Color.RED: "c"}, {"1": "a", "None": "b", "red": "c"}),
        (Word("w"), "w"),
        (Point, str(Point)),
    ],
)
def test_other_types_become_the_nearest_json_type(value, expected):
    """Sets become lists; objects become their fields or their string."""
    assert json.loads(encode({"v": value})) == {"v": expected}
    assert json.loads(pretty({"v": value})) == {"v": expected}
    assert jsonable(value) == expected


@given(json_values())
def test_json_values_round_trip(value):
    decoded = json.loads(encode(value))
    if is_json(value):
        assert decoded == value


def test_value_that_contains_itself_is_rejected():
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    with pytest.raises(ValueError, match="refers to itself"):
        encode(cycle)
    assert not is_json(cycle)


def test_deeply_nested_value_is_rejected():
    deep: Any = {1, 2}
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    with pytest.raises(ValueError, match="levels deep"):
        encode(deep)


def test_size_of_a_value_of_the_maximum_depth_is_estimated():
    """One more level is rejected."""
    value: Any = [[]]
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    check_size(value, 10_000)
    with pytest.raises(ValueError, match=f"nested more than {MAX_DEPTH} levels"):
        check_size([value], 10_000)


@pytest.mark.parametrize("value", [{1: 2}, {"a": date(2024, 1, 1)}, [float("nan")], {"a": {1}}, (1,), b"x"])
def test_value_with_other_types_is_not_json(value):
    assert not is_json(value)


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}, {"a": [1.5, {"b": None}]}])
def test_value_of_json_types_is_json(value):
    assert is_json(value)


def doubled(times):
    """Return a value that is small in memory but huge as JSON."""
    value = ["x"]
    for _ in range(times):
        value = [value, value]
    return value


def test_size_counts_shared_parts_each_time():
    check_size(doubled(5), 1_000)
    with pytest.raises(TooLarge, match="larger than 1000 bytes"):
        check_size(doubled(60), 1_000)


def test_invalid_json_is_described_with_its_position_and_a_part_of_the_text():
    for text, position in [
        ("{a", "line 1 column 2 (char 1)"),
        ("[1,\n 2" + " " * 1_000, "line 2 column 1003"),
    ]:
        with pytest.raises(json.JSONDecodeError) as failure:
            json.loads(text)
        message = describe_invalid_json(text, failure.value)
        assert message.startswith(f"not valid JSON: '{text[:2]}")
        assert position in message
        assert len(message) < 200
