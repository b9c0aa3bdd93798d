"""Settings files changed by a command: what a person wrote stays as it was."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onetool.domain.errors import SettingsError
from onetool.settings.editing import add_entries, remove_entry, set_secret
from onetool.settings.yaml_file import parse_yaml

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
        "# only words\n",
        "log: {}",
        "servers:\n",
        "servers: {}  # none\n",
        "servers: ~\nlog: {}\n",
        COMMENTED,
    ],
)
def test_an_entry_is_added_and_every_line_that_was_there_stays(text):
    """Comments, order and blanks belong to whoever wrote them."""
    new = add_entries(FILE, text, "servers", NEW)
    assert value(new)["servers"]["github"] == NEW["github"]
    kept = [line for line in text.splitlines() if not line.startswith("servers:")]
    lines = iter(new.splitlines())
    assert all(line in lines for line in kept)
    assert ("# none" in new) == ("# none" in text)


@pytest.mark.parametrize("name", ["one", "two"])
def test_an_entry_is_removed_and_its_neighbours_stay(name):
    """Taking out one server touches no other."""
    new = value(remove_entry(FILE, COMMENTED, "servers", name))
    assert list(new["servers"]) == [other for other in ("one", "two") if other != name]
    assert new["aliases"] == {"e": "tools.echo"}


def test_removing_the_last_entry_leaves_an_empty_map():
    """A file without servers is still one that can be read."""
    only = add_entries(FILE, "", "servers", NEW)
    assert value(remove_entry(FILE, only, "servers", "github")) == {"servers": {}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("servers: {one: {command: a}}\n", "cannot be edited"),
        ("{log: {level: info}}\n", "cannot be edited"),
        ("log: {}\n...\n", "cannot be edited"),
        ("servers:\n  github: {command: x}\n", "there already"),
        ("servers: [one]\n", "servers: not a map"),
        ("servers: one\n", "servers: not a map"),
        ("- a\n", "not a map"),
        ("a: [\n", "not valid YAML"),
    ],
)
def test_what_the_editor_does_not_understand_is_left_alone(text, says):
    """A file is refused rather than damaged."""
    with pytest.raises(SettingsError, match=says):
        add_entries(FILE, text, "servers", NEW)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("servers: {one: {command: a}}\n", "cannot be edited"),
        ("servers: {one: {command: a}, two: {command: b}}\nlog: {}\n", "cannot be edited"),
        ("servers: [one]\n", "servers: not a map"),
        ("servers: one\n", "servers: not a map"),
        ("servers:\n", "there is no 'one'"),
    ],
)
def test_what_cannot_be_taken_out_is_left_alone(text, says):
    """However a map is written, the answer is a sentence."""
    with pytest.raises(SettingsError, match=says):
        remove_entry(FILE, text, "servers", "one")


@pytest.mark.parametrize("text", ["\n", "# mine\nlog: {}", COMMENTED])
def test_lines_end_as_they_did(text):
    """A file from Windows stays one, also in what is added to it."""

    def windows(text):
        return text.replace("\n", "\r\n")

    added = add_entries(FILE, text, "servers", NEW)
    assert add_entries(FILE, windows(text), "servers", NEW) == windows(added)
    without = remove_entry(FILE, added, "servers", "github")
    assert remove_entry(FILE, windows(added), "servers", "github") == windows(without)
    assert set_secret(FILE, windows(text), "KEY", "x") == windows(set_secret(FILE, text, "KEY", "x"))


def test_removing_what_is_not_there_says_so():
    """A name that nobody wrote is named."""
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
def test_whatever_is_added_can_be_read_and_removed_again(found):
    """What goes in comes out, whatever it holds."""
    text = add_entries(FILE, "log: {}\n", "servers", found)
    assert value(text)["servers"] == found
    for name in found:
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


def test_a_secret_keeps_its_hosts():
    """A new value is sent to no more hosts than the old one was."""
    new = set_secret(FILE, SECRETS, "KEY", "new")
    assert new.endswith('KEY: {"value": "new", "hosts": ["a.example", "b.example"]}\n')
    assert value(new) == {
        "A": "one",
        "B": "two",
        "KEY": {"value": "new", "hosts": ["a.example", "b.example"]},
    }
    assert value(set_secret(FILE, new, "KEY", "newer"))["KEY"]["value"] == "newer"
    assert value(set_secret(FILE, new, "KEY", None)) == {"A": "one", "B": "two"}
    assert value(set_secret(FILE, SECRETS, "A", "new"))["A"] == "new"


def test_a_secret_that_is_no_text_yaml_can_hold_is_refused_unseen():
    """Half a character cannot be kept, nor can a date beside a value; the error repeats neither."""
    for text, secret in (("", "half \ud83d"), ("KEY: {value: x, since: 2024-01-01}\n", "s3cr3t")):
        with pytest.raises(SettingsError, match="Change it by hand") as caught:
            set_secret(FILE, text, "KEY", secret)
        assert "half" not in str(caught.value)
        assert "s3cr3t" not in str(caught.value)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
@example("key \N{OLD KEY}\x7f\x85\u2028\ufeff\uffff\0\n")
def test_any_text_is_kept_as_a_secret(secret):
    """Emoji, controls and separators come out as they went in."""
    assert value(set_secret(FILE, "A: b\n", "KEY", secret)) == {"A": "b", "KEY": secret}
