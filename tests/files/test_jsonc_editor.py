"""Edits of JSON files with comments."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.files.jsonc_editor import parse_jsonc, remove_member, set_member

OBJECTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values, max_size=4),
    max_leaves=12,
)
MAPS = st.dictionaries(st.text(max_size=4), OBJECTS, max_size=5)
INDENTS = st.sampled_from([None, 0, 1, 2, "\t"])


@given(data=MAPS, indent=INDENTS, key=st.text(max_size=4), value=OBJECTS)
def test_set_and_remove_change_exactly_one_member(data, indent, key, value):
    text = json.dumps(data, indent=indent)
    edited = set_member(text, [key], value)
    assert json.loads(edited) == {**data, key: value}
    assert json.loads(remove_member(edited, [key])) == {k: v for k, v in data.items() if k != key}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("\ufeff", '\ufeff{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"a": {}}', '{"a": {\n  "b": 1\n}}'),
        ('{"a": {"c": 2}}', '{"a": {"b": 1, "c": 2}}'),
        ('{"a": {"b": [2]}}', '{"a": {"b": 1}}'),
        ("{ // note\n}\n", '{\n  "a": {\n    "b": 1\n  } // note\n}\n'),
        ('{\n  "x": 1, // one\n}', '{\n  "a": {\n    "b": 1\n  },\n  "x": 1, // one\n}'),
        ('{\n  "a": {\n    /* c */\n  }\n}', '{\n  "a": {\n    "b": 1\n    /* c */\n  }\n}'),
        (
            '{\r\n\t"a": {\r\n\t\t"c": "//"\r\n\t}\r\n}',
            '{\r\n\t"a": {\r\n\t\t"b": 1,\r\n\t\t"c": "//"\r\n\t}\r\n}',
        ),
    ],
)
def test_setting_a_member(text, expected):
    assert set_member(text, ["a", "b"], 1) == expected
    assert parse_jsonc(expected)["a"]["b"] == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', "{}"),
        ('{"a": 1, "b": 2}', '{ "b": 2}'),
        ('{"b": 2, "a": 1}', '{"b": 2 }'),
        ('{\n  "b": 2,\n  "a": 1\n}', '{\n  "b": 2\n}'),
        ('{\n  "a": [\n    1\n  ],\n  "b": 2\n}', '{\n  "b": 2\n}'),
        ('{\n  // note\n  "a": 1, // one\n}', "{\n  // note\n   // one\n}"),
    ],
)
def test_removing_a_member(text, expected):
    assert remove_member(text, ["a"]) == expected
    parse_jsonc(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "unexpected end of the file"),
        ('{"a": 1} x', "line 1: unexpected 'x'"),
        ('{\n"a" 1}', "line 2: unexpected"),
        ("{1: 2}", "line 1: unexpected '1'"),
        ('{"a": 1 "b": 2}', "line 1: unexpected"),
        ("[1 2]", "line 1: unexpected '2'"),
        ('{"a": tru}', "line 1: unexpected 'tru'"),
        ('{"a": "x}', "line 1: unexpected '\"'"),
        ("{,}", "line 1: unexpected ','"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_invalid_text_is_rejected(text, message):
    with pytest.raises(ValueError, match=message):
        parse_jsonc(text)


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        ("[]", ["a"], "the file is not an object"),
        ('{"a": 1}', ["a", "b"], "a is not an object"),
        ('{"a": 1, "a": 2}', ["b"], None),
    ],
)
def test_paths_lead_through_objects(text, path, message):
    if message is None:
        assert parse_jsonc(set_member(text, path, 3)) == {"a": 2, "b": 3}
        return
    with pytest.raises(ValueError, match=message):
        set_member(text, path, 3)


@pytest.mark.parametrize(("text", "path"), [("{}", ["a"]), ('{"a": {}}', ["a", "b"]), ("[]", ["a"])])
def test_removing_what_is_not_there_is_an_error(text, path):
    with pytest.raises(ValueError, match="there is no"):
        remove_member(text, path)


def test_a_duplicate_key_is_not_removed_in_part():
    """The first one would become active."""
    with pytest.raises(ValueError, match="cannot be edited automatically"):
        remove_member('{"a": 1, "a": 2}', ["a"])
