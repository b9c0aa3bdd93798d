"""Wire names and name suggestions."""

import re

from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.text.suggestions import closest_names, did_you_mean
from onetool.domain.tools.wire_names import names_by_wire, wire_names

VALID = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$")


@given(st.lists(st.text(min_size=1) | st.from_regex(r"[a-z_]{1,3}(\.|__|_)[a-z_]{1,3}", fullmatch=True)))
def test_wire_names_are_valid_and_unique(names):
    wires = wire_names(names)
    assert all(VALID.match(wire) for wire in wires.values())
    assert names_by_wire(wires) == {wire: name for name, wire in wires.items()}
    assert len(set(wires.values())) == len(set(names))


def test_valid_names_do_not_change():
    """Another name never gets the wire name of a valid one."""
    assert wire_names(["time.now", "time__now", "plain"]) == {
        "time.now": wire_names(["time.now", "time__now"])["time.now"],
        "time__now": "time__now",
        "plain": "plain",
    }
    assert wire_names(["time.now"]) == {"time.now": "time__now"}
    assert wire_names(["1st.tool"])["1st.tool"] == "_1st__tool"


def test_long_names_are_truncated_and_stay_unique():
    first, second = "a." + "x" * 80 + "1", "a." + "x" * 80 + "2"
    wires = wire_names([first, second])
    assert len(set(wires.values())) == 2
    assert all(len(wire) == 64 for wire in wires.values())


def test_closest_names_are_suggested():
    """Only one name is suggested if it is clearly the closest."""
    known = ["fs.read_file", "fs.list_dir", "time.now"]
    assert closest_names("fs.raed_file", known) == ["fs.read_file"]
    assert did_you_mean("fs.raedfile", known) == " Did you mean fs.read_file?"
    assert did_you_mean("zzzzzz", known) == ""
    assert did_you_mean("get_b", ["get_a", "get_c"]) == " Did you mean get_a or get_c?"
