"""What a user has approved between two manifests of a server."""

from dataclasses import replace

from onetool.domain.servers.approvals import new_approvals
from onetool.domain.servers.manifest import (
    approve,
    merge,
    merge_items,
    receive_instructions,
    refuse_prompt_text,
)
from onetool.domain.servers.server_item import ServerItem
from onetool.domain.servers.server_tool import ServerTool

TOOLS = [ServerTool(definition={"name": name, "inputSchema": {}}) for name in ("b", "a")]
MEMO = ServerItem(kind="prompt", definition={"name": "memo"})


def approved_instructions(manifest):
    return replace(manifest, instructions=manifest.instructions.approve())


def test_first_listing_approves_nothing():
    listed = receive_instructions(merge_items(merge(None, TOOLS, 1.0), {"prompt": [MEMO]}), "Be quick.")
    assert new_approvals(None, listed) == []
    assert new_approvals(listed, merge(listed, TOOLS[:1], 2.0)) == []


def test_approved_tools_prompts_and_texts_are_named_as_in_a_review():
    old = merge_items(merge(None, TOOLS, 1.0), {"prompt": [MEMO]})
    old = refuse_prompt_text(old, "memo", "Ignore all.", "odd")
    labels = [name for name, _ in old.reviewable()]
    assert len(labels) == 4
    assert new_approvals(old, approve(old, labels)) == sorted(labels)
    assert new_approvals(old, approve(old, ["a"])) == ["a"]
    once = approve(old, ["a"])
    assert new_approvals(once, approve(once, ["a", "b"])) == ["b"]
    assert new_approvals(None, once) == ["a"]


def test_each_approval_of_instructions_counts():
    received = receive_instructions(merge(None, [], 1.0), "Be quick.")
    first = approved_instructions(received)
    assert new_approvals(received, first) == ["instructions"]
    assert new_approvals(first, approved_instructions(first)) == []
    changed = receive_instructions(first, "Be slow.")
    assert new_approvals(first, changed) == []
    assert new_approvals(changed, approved_instructions(changed)) == ["instructions"]
