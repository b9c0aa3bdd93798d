"""Arguments as their schema means them."""

import pytest

from onetool.domain.tools.schema_args import conform

INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (INTEGER, 5.0, 5),
        (INTEGER, -0.0, 0),
        ({"type": ["integer", "null"]}, 5.0, 5),
        ({"anyOf": [INTEGER, {"type": "null"}, True]}, 5.0, 5),
        ({"oneOf": [{"type": "string"}, INTEGER]}, 5.0, 5),
        ({"type": "number"}, 5.0, 5.0),
        ({"type": ["integer", "number"]}, 5.0, 5.0),
        ({}, 5.0, 5.0),
        (True, 5.0, 5.0),
        ({"anyOf": [INTEGER, {"type": "number"}]}, 5.5, 5.5),
        ({"items": INTEGER}, [1.0, 2, "x"], [1, 2, "x"]),
        ({"type": "array"}, [1.0], [1.0]),
        (INTEGER, "5.0", "5.0"),
        (INTEGER, True, True),
    ],
)
def test_integers_are_written_as_integers(schema, value, expected):
    found = conform(schema, value)
    assert (repr(found), type(found)) == (repr(expected), type(expected))


def test_defaults_of_omitted_properties_apply():
    """Also in objects that were passed, but no object is made up, and null is a value."""
    schema = {
        "properties": {
            "a": {"default": 1},
            "b": {"default": 2},
            "c": {"properties": {"d": {"default": [3]}, "e": True}},
            "f": {"properties": {"g": {"default": 4}}},
            "h": {"default": None},
        }
    }
    assert conform(schema, {"b": None, "c": {"x": 1}, "y": 2}) == {
        "b": None,
        "c": {"x": 1, "d": [3]},
        "y": 2,
        "a": 1,
        "h": None,
    }
    assert conform({"properties": None}, {"a": 1}) == {"a": 1}
