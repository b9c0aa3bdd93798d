"""Automatic edits of YAML files: everything else in the file stays unchanged."""

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from onetool.domain.errors import SettingsError
from onetool.files.safe_yaml import parse_yaml
from onetool.settings.yaml_editor import (
    add_entries,
    remove_entry,
    remove_secret,
    set_secret,
    set_value,
    unset_value,
)

FILE = Path("onetool.yaml")
NEW = {"github": {"command": "npx", "args": ["-y", "a: b"], "env": {"TOKEN": "${TOKEN}"}}}
COMMENTED = """\
# mine
log: {level: info}  # quiet

servers:  # others
  # the first
  one:
    command: a   # an a

  # the second
  two:
    command: |
      b
    args:
      - x

aliases:
  e: tools.echo
"""


def value(text):
    return parse_yaml(FILE, text.encode()).value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        "log: {}",
        "servers:\n",
        "servers: {}  # none\n",
        "servers: ~\nlog: {}\n",
        COMMENTED,
    ],
)
def test_adding_an_entry_keeps_every_existing_line(text):
    """Including comments, order and blank lines."""
    new = add_entries(FILE, text, "servers", NEW)
    assert value(new)["servers"]["github"] == NEW["github"]
    existing = [line for line in text.splitlines() if not line.startswith("servers:")]
    lines = iter(new.splitlines())
    assert all(line in lines for line in existing)
    assert ("# none" in new) == ("# none" in text)


@pytest.mark.parametrize("name", ["one", "two"])
def test_removing_an_entry_keeps_the_others(name):
    new = value(remove_entry(FILE, COMMENTED, "servers", name))
    assert list(new["servers"]) == [other for other in ("one", "two") if other != name]
    assert new["aliases"] == {"e": "tools.echo"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a {one: {command: a}}\nservers: *a\n", "cannot be edited"),
        ("servers: &a\n  one: {command: a}\nb: *a\n", "cannot be edited"),
        ("servers:\n  github: {command: x}\n", "already exists"),
        ("servers: [one]\n", "servers: not a map"),
        ("servers: one\n", "servers: not a map"),
        ("- a\n", "not a map"),
        ("a: [\n", "not valid YAML"),
    ],
)
def test_unsupported_style_is_rejected_when_adding(text, message):
    """The file is never corrupted."""
    with pytest.raises(SettingsError, match=message):
        add_entries(FILE, text, "servers", NEW)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a {one: {command: a}, two: {command: b}}\nservers: *a\n", "cannot be edited"),
        ("a: &a {one: {command: a}}\nservers:\n  <<: *a\n  two: {}\n", "cannot be edited"),
        ("servers: [one]\n", "servers: not a map"),
        ("servers: one\n", "servers: not a map"),
        ("servers:\n", "there is no 'one'"),
    ],
)
def test_unsupported_style_is_rejected_when_removing(text, message):
    with pytest.raises(SettingsError, match=message):
        remove_entry(FILE, text, "servers", "one")


@pytest.mark.parametrize("text", ["\n", "# mine\nlog: {}", COMMENTED])
def test_line_endings_are_preserved(text):
    """Added lines use the line endings of the file."""

    def windows(text):
        return text.replace("\n", "\r\n")

    added = add_entries(FILE, text, "servers", NEW)
    assert add_entries(FILE, windows(text), "servers", NEW) == windows(added)
    without = remove_entry(FILE, added, "servers", "github")
    assert remove_entry(FILE, windows(added), "servers", "github") == windows(without)
    assert set_secret(FILE, windows(text), "KEY", "x") == windows(set_secret(FILE, text, "KEY", "x"))


FLOW = "# mine\nlog: {level: info, file: false}  # quiet\nservers: {one: {command: a}, two: {command: b}}\n"


def test_maps_on_one_line_can_be_edited():
    assert add_entries(FILE, "{log: {}}\n", "servers", {"one": {"command": "a"}}) == (
        "{log: {}, servers: {one: {command: a}}}\n"
    )
    assert set_value(FILE, FLOW, ("log", "level"), "debug") == FLOW.replace("info", "debug")
    assert set_value(FILE, FLOW, ("log", "max_bytes"), 1) == FLOW.replace("false", "false, max_bytes: 1")
    assert set_value(FILE, FLOW, ("servers", "two", "args"), ["x"]) == FLOW.replace("b}", "b, args: [x]}")
    assert unset_value(FILE, FLOW, ("log", "level")) == FLOW.replace("level: info, ", "")
    assert remove_entry(FILE, FLOW, "servers", "two") == FLOW.replace(", two: {command: b}", "")
    one = "servers: {one: {command: a}}\n"
    assert remove_entry(FILE, one, "servers", "one") == "servers: {}\n"
    assert unset_value(FILE, one, ("servers", "one")) == ""


def test_setting_a_value_changes_only_its_line():
    """The comment beside a value stays, and a new key comes after the others of its map."""
    changed = set_value(FILE, COMMENTED, ("servers", "one", "command"), "z")
    assert changed == COMMENTED.replace("command: a ", "command: z ")
    added = set_value(FILE, COMMENTED, ("servers", "two", "timeout_s"), 3)
    assert added == COMMENTED.replace("      - x\n", "      - x\n    timeout_s: 3\n")
    assert set_value(FILE, added, ("servers", "two", "args"), ["y"]) == added.replace(
        "    args:\n      - x\n", "    args: [y]\n"
    )
    assert unset_value(FILE, added, ("servers", "two", "timeout_s")) == COMMENTED
    assert set_value(FILE, "log:\n", ("log", "level"), "info") == "log:\n  level: info\n"
    assert set_value(FILE, "expose:  # all\n", ("expose",), "run") == "expose: run  # all\n"
    assert set_value(FILE, "a: 1", ("log", "level"), "info") == "a: 1\nlog:\n  level: info\n"


def test_unsetting_the_last_key_of_a_group_removes_the_group():
    """But not a map below the top, which may have a meaning of its own, such as a profile."""
    assert unset_value(FILE, "a: 1\nlog:\n  level: info\n", ("log", "level")) == "a: 1\n"
    profile = "profiles:\n  p:  # mine\n    expose: all\n"
    assert unset_value(FILE, profile, ("profiles", "p", "expose")) == "profiles:\n  p: {}  # mine\n"
    for path in (("log",), ("log", "level"), ("a", "b")):
        with pytest.raises(SettingsError, match="there is no"):
            unset_value(FILE, "a: 1\n", path)


keys = st.sampled_from(["a", "b", "c.d", "__proto__", "on", "12", "{", "# x"])
scalars = st.one_of(
    st.booleans(), st.integers(), st.text(max_size=6), st.sampled_from(["a: b", "[x", "*.y", "- z", "|\n q"])
)
trees = st.dictionaries(
    keys,
    st.recursive(
        scalars | st.lists(scalars, max_size=2), lambda inner: st.dictionaries(keys, inner, max_size=3)
    ),
    max_size=3,
)


@given(trees, st.lists(keys, min_size=1, max_size=3), scalars | st.lists(scalars, max_size=2), st.data())
def test_every_edit_gives_the_expected_value_or_is_rejected(tree, path, new, data):
    """In every style, with keys and values that look like syntax."""
    text = yaml.safe_dump(tree, default_flow_style=data.draw(st.sampled_from([True, False, None])))
    before, parent = value(text), value(text)
    try:
        after = value(set_value(FILE, text, path, new))
    except SettingsError:
        return
    for name in path:
        parent = after = after[name] if isinstance(after, dict) else None
    assert parent == new
    assert value(text) == before


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)
entries = st.dictionaries(
    st.from_regex(r"[a-z]{1,5}", fullmatch=True),
    st.fixed_dictionaries({"command": words, "args": st.lists(words, max_size=3)}),
    min_size=1,
    max_size=4,
)


@given(entries)
def test_added_entries_can_be_read_and_removed(servers):
    text = add_entries(FILE, "log: {}\n", "servers", servers)
    assert value(text)["servers"] == servers
    for name in servers:
        text = remove_entry(FILE, text, "servers", name)
    assert value(text) == {"log": {}, "servers": {}}


SECRETS = """\
# mine
A: one
KEY:   # of the work
  hosts: [a.example, b.example]
  value: old
B: two
"""


def test_new_value_of_a_secret_keeps_its_hosts():
    new = set_secret(FILE, SECRETS, "KEY", "new")
    assert new.endswith('KEY: {"value": "new", "hosts": ["a.example", "b.example"]}\n')
    assert value(new) == {
        "A": "one",
        "B": "two",
        "KEY": {"value": "new", "hosts": ["a.example", "b.example"]},
    }
    assert value(set_secret(FILE, new, "KEY", "newer"))["KEY"]["value"] == "newer"
    assert value(remove_secret(FILE, new, "KEY")) == {"A": "one", "B": "two"}
    assert value(set_secret(FILE, SECRETS, "A", "new"))["A"] == "new"


def test_secret_without_a_value_keeps_its_hosts_or_gets_new_ones():
    """New hosts replace those in the file."""
    hosts = ["a.example", "b.example"]
    named = set_secret(FILE, SECRETS, "KEY", None)
    assert value(named) == {"A": "one", "B": "two", "KEY": {"hosts": hosts}}
    assert set_secret(FILE, "# mine\n", "NEW", None) == "# mine\nNEW:\n"
    assert value(set_secret(FILE, named, "KEY", "x", ["c.example"]))["KEY"] == {
        "value": "x",
        "hosts": ["c.example"],
    }
    assert value(set_secret(FILE, SECRETS, "A", "x", hosts))["A"] == {"value": "x", "hosts": hosts}
    assert value(set_secret(FILE, SECRETS, "KEY", "x", []))["KEY"] == {"value": "x", "hosts": []}
    assert value(set_secret(FILE, SECRETS, "KEY", "x", None))["KEY"] == {"value": "x"}


def test_error_for_an_unsupported_secret_does_not_quote_it():
    """A lone surrogate in the value, or a date next to it."""
    for text, secret in (("", "half \ud83d"), ("KEY: {value: x, since: 2024-01-01}\n", "s3cr3t")):
        with pytest.raises(SettingsError, match="Edit it manually") as caught:
            set_secret(FILE, text, "KEY", secret)
        assert "half" not in str(caught.value)
        assert "s3cr3t" not in str(caught.value)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
@example("key \N{OLD KEY}\x7f\x85\u2028\ufeff\uffff\0\n")
def test_any_text_can_be_a_secret(secret):
    """Including emoji, control characters and separators."""
    assert value(set_secret(FILE, "A: b\n", "KEY", secret)) == {"A": "b", "KEY": secret}
