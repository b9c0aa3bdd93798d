"""YAML whose author may be hostile."""

from pathlib import Path

import pytest

from onetool.domain.errors import SettingsError
from onetool.settings.yaml_file import MAX_BYTES, parse_yaml

FILE = Path("f.yaml")


def parse(text: str):
    return parse_yaml(FILE, text.encode())


def test_values_and_lines():
    """Every key knows its line; a key inside an alias has the line of what it stands in."""
    found = parse("a: 1\nb:\n  c: [1, {d: 2}]\ne: &x {f: 1}\ng: *x\n")
    assert found.value == {"a": 1, "b": {"c": [1, {"d": 2}]}, "e": {"f": 1}, "g": {"f": 1}}
    assert found.place(("b", "c", 1, "d")) == "f.yaml:3"
    assert found.place(("g", "f")) == "f.yaml:5"
    assert found.place(()) == "f.yaml:1"
    assert parse("").value is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested more than"),
        ("a: *b", "alias without its anchor"),
        ("a: &x [*x]", "alias without its anchor"),
        ("? [a]\n: 1", "a key must be plain text"),
        ("a: &x [1]\n*x : 1", "a key must be plain text"),
        ("a: 1\n---\nb: 2", "f.yaml:2: a second document"),
        ("a: 2024-13-45", "put it in quotes"),
        (f"a: {'1' * 5000}", "put it in quotes"),
        ("!!python/object/apply:os.system [x]", "not valid YAML"),
        ("a: 'open", "not valid YAML"),
        ("a:\n\tb: 1", "f.yaml:2: not valid YAML: a tab, "),
        ("a: \0", "not valid YAML"),
        ("x" * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(text, said):
    """No crash, no code, no guess."""
    with pytest.raises(SettingsError, match=said):
        parse(text)


def test_not_text_is_refused():
    """A binary file is named as such."""
    with pytest.raises(SettingsError, match="not UTF-8"):
        parse_yaml(FILE, b"a: \xff\xfe")


def test_a_small_file_cannot_become_a_large_value():
    """Aliases of aliases are counted as what they expand to."""
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    with pytest.raises(SettingsError, match="more than"):
        parse(bomb)


def test_a_scalar_can_be_an_anchor():
    """Anchors work for plain values too."""
    assert parse("a: &x 5\nb: *x").value == {"a": 5, "b": 5}


def test_nothing_is_quoted_from_a_private_file():
    """An error about a file of secrets repeats no word of it."""
    for text in ("A: *hunter2", "A: !hunter2 x", "hunter2: 1\nhunter2: 2", "A: 'hunter2"):
        with pytest.raises(SettingsError) as caught:
            parse_yaml(FILE, text.encode(), quote=False)
        assert "hunter2" not in str(caught.value)
