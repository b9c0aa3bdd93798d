"""Automatic edits of YAML files: everything else in the file stays unchanged."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onetool.domain.errors import SettingsError
from onetool.files.safe_yaml import parse_yaml
from onetool.settings.yaml_editor import add_entries, remove_entry, remove_secret, set_secret

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


def test_removing_the_last_entry_leaves_an_empty_map():
    only = add_entries(FILE, "", "servers", NEW)
    assert value(remove_entry(FILE, only, "servers", "github")) == {"servers": {}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("servers: {one: {command: a}}\n", "cannot be edited"),
        ("{log: {level: info}}\n", "cannot be edited"),
        ("log: {}\n...\n", "cannot be edited"),
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
        ("servers: {one: {command: a}}\n", "cannot be edited"),
        ("servers: {one: {command: a}, two: {command: b}}\nlog: {}\n", "cannot be edited"),
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


def test_removing_a_missing_entry_is_an_error():
    with pytest.raises(SettingsError, match="no 'three'"):
        remove_entry(FILE, COMMENTED, "servers", "three")


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
