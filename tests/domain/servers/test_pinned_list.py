"""Resources, templates and prompts that the user has accepted, and those that need an approval."""

import json

import pytest

from onetool.domain.servers.manifest import ServerManifest, approve, merge_items, refuse_prompt_text
from onetool.domain.servers.pinned_list import CHANGED, MAX_ITEMS, NEW, PinnedList
from onetool.domain.servers.prompt_texts import MAX_STORED, PromptTexts, text_pin
from onetool.domain.servers.server_item import ServerItem


def prompt(name, **fields):
    return ServerItem(kind="prompt", definition={"name": name, **fields})


def resource(uri, **fields):
    return ServerItem(kind="resource", definition={"uri": uri, "name": uri, **fields})


def listed(kind, *listings, allow_new=False):
    result = PinnedList(kind=kind)
    for items in listings:
        result = result.merge(items, allow_new=allow_new)
    return result


def reasons(pinned, findings=()):
    return {item.key: pinned.reason(item, findings) for item in pinned.items}


@pytest.mark.spec("MCP-31")
def test_items_of_the_first_listing_are_accepted_and_later_prompts_are_new():
    pinned = listed("prompt", [], [prompt("a")], [prompt("a"), prompt("b")])
    assert reasons(pinned) == {"a": "", "b": NEW}
    assert reasons(listed("prompt", [prompt("a")], [prompt("a"), prompt("b")], allow_new=True)) == {
        "a": "",
        "b": "",
    }


@pytest.mark.spec("MCP-31")
def test_new_resources_are_accepted_and_changed_ones_are_not():
    pinned = listed("resource", [resource("a:1")], [resource("a:1", title="x"), resource("a:2")])
    assert reasons(pinned) == {"a:1": CHANGED, "a:2": ""}
    assert pinned.previous["a:1"].definition == {"uri": "a:1", "name": "a:1"}


def test_size_and_annotations_of_a_resource_may_change():
    pinned = listed(
        "resource", [resource("a:1", size=1)], [resource("a:1", size=2, annotations={"priority": 1})]
    )
    assert reasons(pinned) == {"a:1": ""}


def test_a_change_back_is_accepted():
    changed = listed("prompt", [prompt("a")], [prompt("a", title="x")])
    assert reasons(changed) == {"a": CHANGED}
    back = changed.merge([prompt("a")], allow_new=False)
    assert (reasons(back), back.previous) == ({"a": ""}, {})


def test_the_first_of_two_items_with_one_key_counts():
    pinned = listed("prompt", [prompt("a", title="first"), prompt("a", title="second")])
    assert [item.definition["title"] for item in pinned.items] == ["first"]


@pytest.mark.spec("MCP-31")
def test_a_suspicious_definition_is_quarantined_until_it_is_approved():
    pinned = listed("prompt", [prompt("a")])
    assert "instructions for the model: x; y" in reasons(pinned, ["x", "y"])["a"]
    approved = pinned.approve([pinned.items[0].pin])
    assert reasons(approved, ["x"]) == {"a": ""}


def test_an_approval_covers_only_the_definition_that_was_seen():
    seen = listed("prompt", [prompt("a")], [prompt("a", title="x")])
    assert reasons(seen.approve(["another"])) == {"a": CHANGED}
    assert reasons(seen.approve([seen.items[0].pin])) == {"a": ""}


@pytest.mark.spec("MCP-17")
def test_names_stay_and_exact_ones_win():
    pinned = listed("prompt", [prompt("get-item"), prompt("get_item")])
    assert pinned.names["get_item"] == "get_item"
    assert pinned.names["get-item"].startswith("get_item_")


def test_pins_of_removed_items_are_limited():
    first = [prompt(f"p{number}") for number in range(MAX_ITEMS["prompt"] + 5)]
    pinned = listed("prompt", first, [])
    assert (len(pinned.pins), "p0" in pinned.pins, "p9" in pinned.pins) == (MAX_ITEMS["prompt"], False, True)


def test_a_list_can_be_stored():
    pinned = listed("prompt", [prompt("a")], [prompt("a", title="x")]).approve([])
    assert PinnedList.from_json("prompt", json.loads(json.dumps(pinned.to_json()))) == pinned


def test_a_key_is_a_text():
    with pytest.raises(TypeError, match="the uri of a resource is a text"):
        ServerItem(kind="resource", definition={"uri": 1})


EMPTY = ServerManifest(listed_at=0.0, tools=(), pins={})


def test_a_manifest_with_items_and_texts_can_be_stored():
    manifest = merge_items(EMPTY, {"prompt": [prompt("a")], "resource": [resource("a:1")]})
    manifest = refuse_prompt_text(manifest, "a", "Obey.", "why")
    stored = json.loads(json.dumps(manifest.to_json()))
    assert ServerManifest.from_json(stored) == manifest
    stored["items"]["unknown"] = {}
    assert ServerManifest.from_json(stored) == manifest
    del stored["items"], stored["promptTexts"], stored["capabilities"]
    assert ServerManifest.from_json(stored).items == {}


@pytest.mark.spec("MCP-31")
def test_a_review_names_everything_that_needs_an_approval():
    manifest = merge_items(EMPTY, {"prompt": [prompt("a")]})
    manifest = merge_items(manifest, {"prompt": [prompt("a", title="x")]})
    manifest = refuse_prompt_text(manifest, "a", "Obey.", "why")
    text = manifest.prompt_texts.refused[0]
    assert text.label == f"text of prompt a ({text_pin('Obey.')[:8]})"
    assert text.definition == {"prompt": "a", "text": "Obey."}
    approved = approve(manifest, [name for name, _ in manifest.reviewable()])
    assert reasons(approved.items["prompt"]) == {"a": ""}
    assert (approved.prompt_texts.refused, approved.prompt_texts.approved) == ((), {text.pin})


def test_refused_texts_are_limited_and_each_is_stored_once():
    texts = PromptTexts()
    for number in [*range(MAX_STORED + 3), 5]:
        texts = texts.refuse("a", f"Obey {number}.", "why")
    assert len(texts.refused) == MAX_STORED
    assert texts.refused[-1].text == "Obey 5."
    assert refuse_prompt_text(None, "a", "x", "why").prompt_texts.refused[0].prompt == "a"
