"""Text of values for models: blocks, tables, and YAML for everything else."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.text.json_text import jsonable
from onetool.domain.text.model_text import to_model_text, to_readable_text, to_record_lines
from onetool.domain.text.yaml_text import YamlList, YamlMap, to_yaml
from support.hypothesis_schemas import json_values

ROWS = [
    {"name": "a b", "n": 1, "tags": ["x"]},
    {"name": "c", "n": 2, "tags": []},
    {"name": "d", "n": 3, "tags": []},
]
TABLE = '# 3 dicts with the keys [name, n, tags]\n- ["a b", 1, [x]]\n- [c, 2, []]\n- [d, 3, []]'
LINES = st.lists(
    st.sampled_from(["", " ", "  x", "x ", "a: b", "# c", "- d", "\t", "...", "é", "|"]), min_size=2
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (["a\nb\n"], "- |\n  a\n  b\n"),
        (["a\nb\n", "c: d", "e\n  f", 1], '- |\n  a\n  b\n- "c: d"\n- |-\n  e\n    f\n- 1'),
        ({"content": "x\n\ny", "n": 1}, "content: |-\n  x\n\n  y\nn: 1"),
        ([{"file": "a", "text": "x\ny"}, {"n": 1}], "- file: a\n  text: |-\n    x\n    y\n- {n: 1}"),
        ({"a": {"b": {"c": "x\ny"}, "d": [1, 2]}}, "a:\n  b:\n    c: |-\n      x\n      y\n  d: [1, 2]"),
        ([["x\ny"], {}], "- - |-\n    x\n    y\n- {}"),
        ({"t": "x\ny", "deep": {"a": {"b": {"c": 1}}}}, "t: |-\n  x\n  y\ndeep:\n  a: {b: {c: 1}}"),
    ],
)
def test_text_of_several_lines_is_a_block(value, text):
    assert to_readable_text(value) == text
    assert yaml.safe_load(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ROWS, TABLE),
        ({"count": 3, "items": ROWS}, "count: 3\nitems: " + TABLE.replace("\n", "\n  ")),
        ([ROWS, 1], "- " + TABLE.replace("\n", "\n  ") + "\n- 1"),
    ],
)
def test_dicts_with_equal_keys_are_rows_of_a_table(value, text):
    """The keys are named once."""
    assert to_readable_text(value) == text


@pytest.mark.parametrize(
    "value",
    [
        ROWS[:2],
        [{"a": 1}] * 3,
        [*ROWS, {"name": "x"}],
        [*ROWS, 1],
        [{"a": 1, "b": {"c": {"d": 1}}}] * 3,
        YamlList(ROWS),
        YamlMap(items=ROWS, text="a\nb"),
        {"n": 1, "y": "n", "text": "one line\n"},
        ["\n", "a\rb\nc", "a\x00\nb"],
        [],
        {},
    ],
    ids=repr,
)
def test_other_values_are_yaml(value):
    """Also what `ot` functions return, whose format is specified; single letters are not quoted."""
    assert to_readable_text(value) == to_yaml(value) == to_model_text(value, 10_000)
    assert yaml.safe_load(to_readable_text(value)) == value


def test_single_letters_are_not_quoted():
    assert to_yaml({"n": 1, "y": "n"}) == "{n: 1, y: n}"


def test_text_is_unchanged_and_a_large_value_has_one_record_a_line():
    assert to_model_text("a\nb", 1) == "a\nb"
    assert to_model_text(ROWS[:1], 10) == '- {name: "a b", n: 1, tags: [x]}'
    deep = {"a": {"b": [{"c": {"d": {"e": ["x\ny", 1]}}}], "n": None}, "text": "x\ny", "none": {}}
    assert to_model_text([deep, "x\ny", []], 10).count("\n") == 2
    lines = ['a: {b: [{c: {d: {e: ["x\\ny", 1]}}}], n: null}', "text: |-", "  x", "  y", "none: {}"]
    assert to_model_text(deep, 10).split("\n") == lines
    assert to_model_text({"items": ["x" * 200] * 3}, 10) == "items:" + f"\n  - {'x' * 200}" * 3
    assert [to_model_text(value, 0) for value in ([], {}, None, 1)] == ["[]", "{}", "null", "1"]


@given(json_values())
def test_records_survive_a_yaml_round_trip(value):
    value = jsonable({"value": value, "more": ["x\ny"] * 200})  # infinities become null
    assert yaml.safe_load(to_record_lines(value)) == value


@pytest.mark.parametrize(
    "value", [["word"] * 100, {"a": ["word"] * 100}, {f"key{n}": "word" for n in range(60)}]
)
def test_long_lists_and_dicts_are_not_on_one_line(value):
    """In a list of dicts, each dict is one record and stays on its line."""
    text = to_readable_text(value)
    assert max(map(len, text.split("\n"))) < 40
    assert yaml.safe_load(text) == value
    assert "\n" not in to_readable_text([value])


@given(LINES, st.sampled_from(["", "\n", "\n\n"]))
def test_any_block_survives_a_yaml_round_trip(lines, end):
    text = "\n".join(lines) + end
    for value in ([text, "x\ny"], {text: text, "more": ["x\ny", {"a": text}]}):
        assert yaml.safe_load(to_readable_text(value)) == value


def without_tables(value: Any) -> Any:
    """Replace long lists, so that no table is written."""
    if isinstance(value, list):
        return [without_tables(item) for item in value[:2]]
    return {key: without_tables(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(json_values())
def test_any_value_survives_a_yaml_round_trip_with_blocks(value):
    value = jsonable([without_tables(value), "x\ny"])  # infinities become null
    assert repr(yaml.safe_load(to_readable_text(value))) == repr(value)
