"""Manifests of MCP servers: names, pins and changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.servers import manifest as manifest_module
from onetool.domain.servers.manifest import (
    CHANGED,
    INSTRUCTIONS,
    NAME_CONFLICT,
    NEW,
    ServerManifest,
    approve,
    merge,
    new_tool_names,
    quarantine_reason,
    tool_access,
)
from onetool.domain.servers.server_tool import ServerTool
from onetool.domain.text.identifiers import safe_name


def tool(name, description="Does it.", **fields):
    definition = {"name": name, "description": description, "inputSchema": {"type": "object"}}
    return ServerTool(definition=definition | fields)


def names_of(*names):
    return merge(None, [tool(name) for name in names], 1.0).names


@pytest.mark.parametrize(
    ("name", "expected"),
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
def test_names_become_python_identifiers(name, expected):
    """Covers dashes, dots, keywords, leading digits and dunder names."""
    assert safe_name(name) == expected
    assert safe_name(name).isidentifier()


@given(st.lists(st.text(max_size=8), unique=True, max_size=8))
def test_every_tool_has_a_unique_python_name(names):
    by_name = names_of(*names)
    assert set(by_name) == set(names)
    assert len(set(by_name.values())) == len(names)
    assert all(name.isidentifier() for name in by_name.values())


def test_second_tool_with_the_same_python_name_gets_a_suffix():
    """The suffix is longer if the short one is also in use."""
    by_name = names_of("a-b", "a.b")
    assert by_name["a-b"] == "a_b"
    assert by_name["a.b"].startswith("a_b_")
    assert len(by_name["a.b"]) == len("a_b_") + 6
    longer = names_of("a-b", by_name["a.b"], "a.b")
    assert len(longer["a.b"]) == len("a_b_") + 8


def test_known_tool_retains_its_python_name():
    """A new tool cannot claim the name, even if it is listed first."""
    old = merge(None, [tool("read-file")], 1.0)
    new = merge(old, [tool("read_file"), tool("read-file")], 2.0, allow_new=True)
    assert new.names["read-file"] == "read_file"
    assert quarantine_reason(new, new.tools[0], allow_new=True) == NAME_CONFLICT
    assert quarantine_reason(new, new.tools[1], allow_new=True) == ""


@pytest.mark.spec("MCP-17")
@pytest.mark.parametrize("names", [("get-item", "get_item"), ("get_item", "get-item")])
def test_exact_python_name_wins_in_any_order_and_stays(names):
    """Also after a restart, and when the tool with the exact name is not listed for a while."""
    manifest = merge(None, [tool(name) for name in names], 1.0)
    other = manifest.names["get-item"]
    assert manifest.names["get_item"] == "get_item"
    assert other.startswith("get_item_")
    manifest = ServerManifest.from_json(json.loads(json.dumps(manifest.to_json())))
    manifest = merge(manifest, [tool("get-item")], 2.0)
    assert manifest.names["get-item"] == other
    manifest = merge(manifest, [tool(name) for name in reversed(names)], 3.0)
    assert manifest.names == {"get_item": "get_item", "get-item": other}


@pytest.mark.spec("MCP-17")
def test_names_that_an_earlier_version_assigned_stay():
    """It gave a name to the first tool that was listed."""
    fields = {"description": "", "inputSchema": {}, "outputSchema": None, "annotations": {}}
    names = ["a-b", "a_b", "a.b"]
    stored = {
        "schemaVersion": 1,
        "listedAt": 1.0,
        "tools": [fields | {"name": name} for name in reversed(names)],
        "pins": dict.fromkeys(names, "x"),
        "previous": [],
        "approved": [],
    }
    manifest = ServerManifest.from_json(stored)
    assert manifest.names["a-b"] == "a_b"
    assert len(set(manifest.names.values())) == 3
    assert merge(manifest, manifest.tools, 2.0).names == manifest.names


@pytest.mark.spec("MCP-17")
def test_many_odd_names_stay_reachable():
    odd = ["get-item", "get_item", "get.item", *(f"get{chr(0x2190 + number)}item" for number in range(48))]
    by_name = names_of(*odd)
    assert len(odd) == len(set(by_name.values())) == 51
    assert all(name.isidentifier() for name in by_name.values())


def test_tool_that_a_known_server_adds_is_quarantined_until_approved():
    """Unless the settings allow it. Before its first tools, a server is not known."""
    old = merge(None, [tool("a")], 1.0)
    new = merge(old, [tool("a"), tool("b")], 2.0)
    assert [quarantine_reason(new, listed) for listed in new.tools] == ["", NEW]
    assert quarantine_reason(merge(new, new.tools, 3.0), tool("b")) == NEW
    assert quarantine_reason(approve(new, ["b"]), tool("b")) == ""
    allowed = merge(old, [tool("a"), tool("b")], 2.0, allow_new=True)
    assert quarantine_reason(allowed, tool("b"), allow_new=True) == ""
    first = merge(merge(None, [], 1.0), [tool("a")], 2.0)
    assert quarantine_reason(first, tool("a")) == ""


def test_changed_tool_is_quarantined_until_approved():
    """The old definition is retained for the diff until approval pins the new one."""
    old = merge(None, [tool("a"), tool("b")], 1.0)
    new = merge(old, [tool("a", "Now it does more."), tool("b"), tool("c")], 2.0, allow_new=True)
    changed = new.find("a")
    assert quarantine_reason(new, changed) == CHANGED
    assert new.previous == {"a": tool("a")}
    assert new_tool_names(old, new) == ["c"]
    assert new_tool_names(None, new) == []
    assert merge(new, new.tools, 3.0).previous == {"a": tool("a")}
    approved = approve(new, ["a"])
    assert quarantine_reason(approved, changed) == ""
    assert approved.previous == {}
    assert merge(approved, [tool("a"), tool("b")], 3.0).previous["a"] == changed
    assert merge(new, old.tools, 3.0).previous == {"c": tool("c")}


def test_removed_tool_stays_pinned():
    """It cannot return with another definition."""
    gone = merge(merge(None, [tool("a")], 1.0), [], 2.0)
    assert gone.find("a") is None
    back = merge(gone, [tool("a", "Other.")], 3.0)
    assert quarantine_reason(back, back.tools[0]) == CHANGED
    assert back.previous == {"a": tool("a")}


def test_pins_of_removed_tools_are_limited(monkeypatch):
    """A server that lists other tools every time cannot fill the disk."""
    monkeypatch.setattr(manifest_module, "MAX_TOOLS", 2)
    manifest = merge(None, [tool("t0")], 0.0)
    for number in range(1, 6):
        manifest = merge(manifest, [tool(f"t{number}")], float(number), allow_new=True)
    assert list(manifest.pins) == ["t3", "t4", "t5"]
    assert set(manifest.previous) == {"t3", "t4"}


def test_pin_covers_every_part_of_a_definition():
    """The order of keys does not matter."""
    pins = {
        tool("a").pin,
        tool("b").pin,
        tool("a", "x").pin,
        tool("a", outputSchema={}).pin,
        tool("a", annotations={"readOnlyHint": True}).pin,
        tool("a", inputSchema={"type": "object", "x": 1}).pin,
    }
    assert len(pins) == 6
    assert tool("a", inputSchema={"a": 1, "b": 2}).pin == tool("a", inputSchema={"b": 2, "a": 1}).pin


def test_tool_with_findings_is_quarantined_until_approved():
    """This also applies to a tool that is listed for the first time."""
    manifest = merge(None, [tool("a")], 1.0)
    listed = manifest.tools[0]
    assert quarantine_reason(manifest, listed, ["says: ignore"]) == f"{INSTRUCTIONS}: says: ignore"
    assert quarantine_reason(approve(manifest, [listed.name]), listed, ["says: ignore"]) == ""


def test_texts_include_schemas_keys_and_annotations():
    schema = {"properties": {"x": {"description": "deep", "enum": ["one", 2, None]}}}
    definition = tool("n", "top", inputSchema=schema, annotations={"title": "shown"})
    assert {"top", "deep", "one", "x", "shown"} <= set(definition.texts())


@pytest.mark.parametrize(
    ("hints", "read_only"),
    [
        ({}, False),
        ({"readOnlyHint": True}, True),
        ({"readOnlyHint": False}, False),
        ({"readOnlyHint": True, "destructiveHint": True}, False),
        ({"destructiveHint": False}, False),
    ],
)
def test_tool_claims_to_be_read_only_only_if_the_server_declares_it(hints, read_only):
    assert tool("a", annotations=hints).claims_read_only is read_only


def test_read_only_claim_counts_only_if_the_user_accepted_it():
    """By the settings, or by approving the definition. A changed definition is another claim."""
    claim, changed = (tool("a", text, annotations={"readOnlyHint": True}) for text in ("Reads.", "Deletes."))
    manifest = merge(None, [claim, tool("b")], 1.0)
    access = tool_access(manifest, claim, False)
    assert (access.read_only, access.is_claim_unaccepted) == (False, True)
    assert tool_access(manifest, claim, True).read_only
    approved = approve(manifest, ["a", "b"])
    access = tool_access(approved, claim, False)
    assert (access.read_only, access.is_claim_unaccepted) == (True, False)
    assert access.reason == "you approved this definition"
    assert not tool_access(approved, changed, False).read_only
    for trust_annotations in (False, True):
        access = tool_access(approved, tool("b"), trust_annotations)
        assert (access.read_only, access.is_claim_unaccepted) == (False, False)


def test_first_of_two_tools_with_the_same_name_is_used():
    manifest = merge(None, [tool("a"), tool("b"), tool("a", "again")], 1.0)
    listed = [(definition.name, definition.description) for definition in manifest.tools]
    assert listed == [("a", "Does it."), ("b", "Does it.")]


def test_manifest_round_trips_through_json():
    """Integers may have any size."""
    large = tool("b", inputSchema={"maximum": 10**30}, outputSchema={"type": "object"})
    manifest = approve(merge(merge(None, [tool("a"), large], 1.0), [tool("a", "x"), large], 2.0), ["b"])
    assert ServerManifest.from_json(json.loads(json.dumps(manifest.to_json()))) == manifest


@pytest.mark.parametrize("definition", [{"name": 1, "inputSchema": {}}, {"name": "a", "inputSchema": []}])
def test_stored_definition_with_wrong_types_is_rejected(definition):
    """The store then treats the file as corrupt."""
    with pytest.raises(TypeError, match="needs a name and an input schema"):
        ServerManifest.from_json(merge(None, [], 1.0).to_json() | {"tools": [definition]})
