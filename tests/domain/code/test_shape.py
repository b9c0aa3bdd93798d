"""Descriptions of values in error messages."""

import pytest

from onetool.domain.code.shape import describe_shape


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ({"content": "x"}, "dict with keys content"),
        ({str(n): n for n in range(14)}, "dict with keys 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more"),
        ({"k" * 100: 1}, "dict with keys " + "k" * 40),
        ({10**5000: 1, "a": 2}, "dict with keys int, a"),
        ({}, "empty dict"),
        ("x", "str of 1 character"),
        ("abc", "str of 3 characters"),
        (" [1, 2]", "str of 7 characters; it is JSON: use json.loads"),
        ("[1, 2", "str of 5 characters"),
        ("[" * 100_000, "str of 100000 characters"),
        ("[" + "1," * 50_000 + "1]", "str of 100003 characters"),
        ([], "empty list"),
        ([{"a": 1, "b": 2}, {"a": 1}], "list of 2 dicts with keys a, b"),
        ([{"a": 1}], "list of 1 dict with keys a"),
        (["a", "b"], "list of 2 str"),
        ([{}, {}], "list of 2 dict"),
        ([None], "list of 1 None"),
        ([1, "a"], "list of 2 items"),
        ((1, 2), "tuple of 2 int"),
        ({3}, "set of 1 int"),
        (None, "None"),
        (1.5, "float"),
        (True, "bool"),
    ],
)
def test_shape_has_the_type_and_the_size_or_keys(value, shape):
    assert describe_shape(value) == shape
