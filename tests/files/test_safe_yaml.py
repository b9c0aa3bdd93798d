"""The reader of untrusted YAML files."""

from pathlib import Path

import pytest

from onetool.domain.errors import SettingsError
from onetool.files.safe_yaml import SETTINGS_RULES, VALUE_SIZE, parse_yaml

FILE = Path("f.yaml")


def parse(text: str):
    return parse_yaml(FILE, text.encode())


def test_values_and_lines():
    """A key inside an alias has the line of the enclosing key."""
    document = parse("a: 1\nb:\n  c: [1, {d: 2}]\ne: &x {f: 1}\ng: *x\n")
    assert document.value == {"a": 1, "b": {"c": [1, {"d": 2}]}, "e": {"f": 1}, "g": {"f": 1}}
    assert document.location(("b", "c", 1, "d")) == "f.yaml:3"
    assert document.location(("g", "f")) == "f.yaml:5"
    assert document.location(()) == "f.yaml:1"
    assert parse("").value is None
    assert parse("a: &x 5\nb: *x").value == {"a": 5, "b": 5}


@pytest.mark.guards("imported-yaml")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested more than"),
        ("a: *b", "alias without an anchor"),
        ("a: &x [*x]", "alias without an anchor"),
        ("a: &x 1\nb: &x {c: *x}", "alias without an anchor"),
        ("a: {<<: 5}", "f.yaml:1: only maps can be merged"),
        ("a: {&x <<: {b: 1}}\nc: *x", "alias without an anchor"),
        ("? [a]\n: 1", "a key must be plain text"),
        ("a: &x [1]\n*x : 1", "a key must be plain text"),
        ("a: 1\n---\nb: 2", "f.yaml:2: a second document"),
        ("a: 2024-13-45", "put it in quotes"),
        (f"a: {'1' * 5000}", "put it in quotes"),
        ("!!python/object/apply:os.system [x]", "not valid YAML"),
        ("a: 'open", "not valid YAML"),
        ("a:\n\tb: 1", "f.yaml:2: not valid YAML: a tab or "),
        ("a: \0", "not valid YAML"),
        ("x" * (SETTINGS_RULES.max_bytes + 1), "larger than"),
    ],
)
def test_invalid_yaml_is_rejected(text, message):
    with pytest.raises(SettingsError, match=message):
        parse(text)


def test_binary_file_is_rejected():
    with pytest.raises(SettingsError, match="not UTF-8"):
        parse_yaml(FILE, b"a: \xff\xfe")


@pytest.mark.guards("imported-yaml")
def test_expansion_of_aliases_is_limited():
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    with pytest.raises(SettingsError, match="more than"):
        parse(bomb)


def test_alias_counts_as_many_values_as_its_anchor():
    """Values before the anchor do not count again."""
    before = f"before: [{'1, ' * (2 * SETTINGS_RULES.max_expanded // (3 * (VALUE_SIZE + 1)))}]\n"
    assert parse(before + "a: &x [1, 2]\nb: [*x, *x]\n").value["b"] == [[1, 2], [1, 2]]
    with pytest.raises(SettingsError, match="more than"):
        parse(before.replace("before: ", "before: &all ") + "again: *all\n")


def test_errors_without_quoting_do_not_contain_the_content():
    for text in ("A: *hunter2", "A: !hunter2 x", "hunter2: 1\nhunter2: 2", "A: 'hunter2"):
        with pytest.raises(SettingsError) as caught:
            parse_yaml(FILE, text.encode(), quote=False)
        assert "hunter2" not in str(caught.value)


def test_merge_key_adds_the_keys_that_are_missing():
    """The map's own keys and earlier maps have precedence, in any order of the keys."""
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {z: 3, <<: [*a, *b], w: 3}\nd: {<<: *a, <<: *b}\n"
    value = parse(text).value
    assert value["c"] == {"w": 3, "x": 1, "y": 1, "z": 3}
    assert value["d"] == {"x": 1, "y": 1, "z": 2}
    assert value["a"] == {"x": 1, "y": 1}
    assert parse("'<<': 1").value == {"<<": 1}
