"""Names, pins and differences of what servers list."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain import manifest as rules
from onetool.domain.manifest import (
    CHANGED,
    ORDERS,
    SHADOWS,
    Definition,
    Manifest,
    approve,
    merge,
    new_names,
    python_names,
    safe_name,
    why_held_back,
)


def tool(name, description="Does it.", **known):
    return Definition(name=name, description=description, input_schema={"type": "object"}, **known)


def names_of(*names):
    return python_names(merge(None, [tool(name) for name in names], 1.0))


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("read", "read"),
        ("read-file.now", "read_file_now"),
        ("class", "_class"),
        ("2d", "_2d"),
        ("", "_"),
        ("__init__", "init"),
        ("____", "_"),
        ("ﬁle", "file"),
        ("größe", "größe"),
        ("a b/c", "a_b_c"),
        ("x" * 999, "x" * 128),
        ("\u0660x", "_\u0660x"),
        ("\u2460x", "_1x"),
        ("\u0bf0x", "__x"),
    ],
)
def test_names_that_python_can_call(name, called):
    """Dashes, dots, keywords, digits in front and special names become identifiers."""
    assert safe_name(name) == called
    assert safe_name(name).isidentifier()


@given(st.lists(st.text(max_size=8), unique=True, max_size=8))
def test_every_tool_has_a_name_of_its_own(names):
    """Whatever a server calls its tools, each can be called, and none twice."""
    called = names_of(*names)
    assert set(called) == set(names)
    assert len(set(called.values())) == len(names)
    assert all(name.isidentifier() for name in called.values())


def test_a_collision_gets_a_suffix():
    """The first keeps the plain name, also when somebody has the first suffix already."""
    called = names_of("a-b", "a.b")
    assert called["a-b"] == "a_b"
    assert called["a.b"].startswith("a_b_")
    assert len(called["a.b"]) == len("a_b_") + 6
    again = names_of("a-b", called["a.b"], "a.b")
    assert len(again["a.b"]) == len("a_b_") + 8


def test_what_is_known_keeps_its_name_whatever_comes_before_it():
    """A new tool that is listed first cannot take a name over."""
    old = merge(None, [tool("read-file")], 1.0)
    new = merge(old, [tool("read_file"), tool("read-file")], 2.0)
    assert python_names(new)["read-file"] == "read_file"
    assert why_held_back(new, new.tools[0]) == SHADOWS
    assert why_held_back(new, new.tools[1]) == ""


def test_a_changed_tool_is_held_back_until_approved():
    """The pin stays, the old definition is kept to be shown, approval pins the new one."""
    old = merge(None, [tool("a"), tool("b")], 1.0)
    new = merge(old, [tool("a", "Now it does more."), tool("b"), tool("c")], 2.0)
    changed = new.find("a")
    assert why_held_back(new, changed) == CHANGED
    assert new.replaced == {"a": tool("a")}
    assert new_names(old, new) == ["c"]
    assert new_names(None, new) == []
    assert merge(new, new.tools, 3.0).replaced == {"a": tool("a")}
    approved = approve(new, ["a"])
    assert why_held_back(approved, changed) == ""
    assert approved.replaced == {}
    assert merge(approved, [tool("a"), tool("b")], 3.0).replaced["a"] == changed
    assert merge(new, old.tools, 3.0).replaced == {"c": tool("c")}


def test_a_tool_that_went_away_is_still_known():
    """It cannot come back as something else."""
    gone = merge(merge(None, [tool("a")], 1.0), [], 2.0)
    assert gone.find("a") is None
    back = merge(gone, [tool("a", "Other.")], 3.0)
    assert why_held_back(back, back.tools[0]) == CHANGED
    assert back.replaced == {"a": tool("a")}


def test_pins_of_what_is_gone_are_bounded(monkeypatch):
    """A server that shows other tools every time does not fill the disk."""
    monkeypatch.setattr(rules, "MOST_TOOLS", 2)
    known = merge(None, [tool("t0")], 0.0)
    for number in range(1, 6):
        known = merge(known, [tool(f"t{number}")], float(number))
    assert list(known.pins) == ["t3", "t4", "t5"]
    assert set(known.replaced) == {"t3", "t4"}


def test_every_part_that_somebody_reads_is_pinned():
    """Name, description, both schemas and annotations; the order of keys is nothing."""
    pins = {
        tool("a").pin,
        tool("b").pin,
        tool("a", "x").pin,
        tool("a", output_schema={}).pin,
        tool("a", annotations={"readOnlyHint": True}).pin,
        Definition(name="a", description="Does it.", input_schema={"type": "object", "x": 1}).pin,
    }
    assert len(pins) == 6
    one = Definition(name="a", input_schema={"a": 1, "b": 2})
    assert one.pin == Definition(name="a", input_schema={"b": 2, "a": 1}).pin


def test_findings_hold_a_tool_back_until_a_person_has_looked():
    """Also one that was seen first; approval is of these very words."""
    known = merge(None, [tool("a")], 1.0)
    assert why_held_back(known, known.tools[0], ["says: ignore"]) == f"{ORDERS}: says: ignore"
    assert why_held_back(approve(known, [known.tools[0].name]), known.tools[0], ["says: ignore"]) == ""


def test_all_texts_are_looked_at():
    """Descriptions of parameters, default values, keys, annotations."""
    schema = {"properties": {"x": {"description": "deep", "enum": ["one", 2, None]}}}
    found = Definition(name="n", description="top", input_schema=schema, annotations={"title": "shown"})
    assert {"top", "deep", "one", "x", "shown"} <= set(found.texts())


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ({}, True),
        ({"readOnlyHint": True}, False),
        ({"readOnlyHint": False}, True),
        ({"readOnlyHint": True, "destructiveHint": True}, True),
        ({"destructiveHint": False}, True),
    ],
)
def test_a_tool_changes_things_unless_it_only_reads(said, changes):
    """What is not said counts as the worse."""
    assert tool("a", annotations=said).changes is changes


def test_a_name_that_is_listed_twice_counts_once():
    """The first one stays, in its place."""
    found = merge(None, [tool("a"), tool("b"), tool("a", "again")], 1.0)
    assert [(one.name, one.description) for one in found.tools] == [("a", "Does it."), ("b", "Does it.")]


def test_a_manifest_survives_being_written():
    """As JSON and back, with integers of any size."""
    odd = Definition(name="b", input_schema={"maximum": 10**30}, output_schema={"type": "object"})
    known = approve(merge(merge(None, [tool("a"), odd], 1.0), [tool("a", "x"), odd], 2.0), ["b"])
    assert Manifest.from_json(json.loads(json.dumps(known.to_json()))) == known
