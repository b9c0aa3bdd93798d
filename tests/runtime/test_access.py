"""Who may call a tool: `onetool why` and the page Access name the deciding rule, and that rule decides."""

import pytest

from onetool.runtime.access import explain
from onetool.sdk import tool
from onetool.testing import memory_runtime


def read() -> int:
    """Read."""
    return 1


@tool(read_only=False)
def change() -> int:
    """Change."""
    return 2


YOU, MODELS, CLIENTS, PART = "cli", "ask", "mcp", "part"
"""Kinds of callers: by interface, or by profile."""
READ, CHANGE, OTHER = "demo.read", "demo.change", "more.change"


def approval(**settings):
    return {"approval": settings}


def profile(mcp="allow", **settings):
    return approval(mcp=mcp) | {"profiles": {"part": settings}}


NOTHING = {}
SITUATIONS = [
    (MODELS, CHANGE, NOTHING, "ask", "the tool is not read-only", approval(allow=["demo.*"]), "allow"),
    (MODELS, CHANGE, approval(allow=["demo.*"]), "allow", "approval.allow: demo.*", NOTHING, "ask"),
    (MODELS, CHANGE, approval(allow=["*.change"]), "allow", "approval.allow: *.change", NOTHING, "ask"),
    (MODELS, CHANGE, approval(allow=["x", "d*"]), "allow", "approval.allow: d*", NOTHING, "ask"),
    (MODELS, READ, approval(deny=["demo.read"]), "deny", "approval.deny: demo.read", NOTHING, "allow"),
    (MODELS, CHANGE, approval(deny=["demo.*"]), "deny", "approval.deny: demo.*", NOTHING, "ask"),
    (MODELS, CHANGE, approval(allow=["*"], deny=["*"]), "deny", "approval.deny: *", NOTHING, "ask"),
    (YOU, CHANGE, approval(deny=["demo.change"]), "deny", "approval.deny: demo.change", NOTHING, "allow"),
    (YOU, READ, approval(deny=["*.read"]), "deny", "approval.deny: *.read", NOTHING, "allow"),
    (CLIENTS, CHANGE, NOTHING, "allow", "approval.mcp: allow", approval(mcp="ask"), "ask"),
    (CLIENTS, CHANGE, approval(mcp="ask"), "ask", "approval.mcp: ask", approval(mcp="deny"), "deny"),
    (CLIENTS, CHANGE, approval(mcp="deny"), "deny", "approval.mcp: deny", NOTHING, "allow"),
    (
        CLIENTS,
        CHANGE,
        approval(mcp="deny", allow=["demo.*"]),
        "allow",
        "approval.allow: demo.*",
        approval(mcp="deny"),
        "deny",
    ),
    (CLIENTS, READ, approval(mcp="allow", deny=["d*"]), "deny", "approval.deny: d*", NOTHING, "allow"),
    (PART, READ, profile(packs=["more"]), "hidden", "profiles.part.packs: more", profile(), "allow"),
    (PART, READ, profile(packs=[]), "hidden", "profiles.part.packs: []", profile(packs=["demo"]), "allow"),
    (PART, READ, profile(servers=["x"]), "hidden", "profiles.part.servers: x", profile(), "allow"),
    (PART, OTHER, profile(packs=["d*"]), "hidden", "profiles.part.packs: d*", profile(packs=["*"]), "allow"),
    (PART, READ, profile(exclude=["demo.*"]), "hidden", "profiles.part.exclude: demo.*", profile(), "allow"),
    (PART, READ, profile(exclude=["*.read"]), "hidden", "profiles.part.exclude: *.read", profile(), "allow"),
    (PART, "ot.find", profile(exclude=["ot.*"]), "hidden", "profiles.part.exclude: ot.*", profile(), "allow"),
    (
        PART,
        CHANGE,
        profile(approval={"mode": "ask"}),
        "ask",
        "profiles.part.approval.mode: ask",
        profile(),
        "allow",
    ),
    (
        PART,
        CHANGE,
        profile(approval={"mode": "deny"}),
        "deny",
        "profiles.part.approval.mode: deny",
        profile(approval={"mode": "deny", "allow": ["demo.*"]}),
        "allow",
    ),
    (
        PART,
        READ,
        profile(approval={"deny": ["demo.*"]}),
        "deny",
        "profiles.part.approval.deny: demo.*",
        profile(),
        "allow",
    ),
    (PART, CHANGE, profile("ask"), "ask", "approval.mcp: ask", profile("allow"), "allow"),
    (PART, CHANGE, profile("deny"), "deny", "approval.mcp: deny", profile("ask"), "ask"),
    (
        PART,
        CHANGE,
        profile("ask", approval={"mode": "deny"}),
        "deny",
        "profiles.part.approval.mode: deny",
        profile("ask"),
        "ask",
    ),
    (
        PART,
        CHANGE,
        profile("ask", approval={"allow": ["*"]}),
        "ask",
        "approval.mcp: ask",
        profile("allow", approval={"allow": ["*"]}),
        "allow",
    ),
    (
        PART,
        CHANGE,
        profile(exclude=["demo.change"], approval={"mode": "ask"}),
        "hidden",
        "profiles.part.exclude: demo.change",
        profile(approval={"mode": "ask"}),
        "ask",
    ),
    (
        YOU,
        "gone.delete_all",
        {"servers": {"gone": {"command": "x", "enabled": False, "exclude": ["delete_*"]}}},
        "hidden",
        "servers.gone.exclude: delete_*",
        {"servers": {"gone": {"command": "x", "enabled": False}}},
        None,
    ),
    (
        YOU,
        "gone.delete_all",
        {"servers": {"gone": {"command": "x", "enabled": False, "include": ["list_*"]}}},
        "hidden",
        "servers.gone.include: list_*",
        {"servers": {"gone": {"command": "x", "enabled": False, "include": ["*"]}}},
        None,
    ),
]


async def decide(settings, who, name):
    """Return the effect and the deciding rule; None if there is no such tool."""
    async with memory_runtime({"demo": [read, change], "more": [change]}, settings=settings) as ot:
        for access in await explain(ot.runtime.state, name):
            caller = access.caller
            if who in (caller.profile, "" if caller.profile else caller.interface):
                return str(access.decision.effect), str(access.decision.rule)
    return None, ""


@pytest.mark.parametrize("situation", SITUATIONS, ids=[f"{s[0]} {s[1]} {s[4]}" for s in SITUATIONS])
async def test_the_rule_that_is_named_decides(situation):
    """Changing it changes the decision."""
    who, name, settings, effect, rule, changed, other_effect = situation
    assert await decide(settings, who, name) == (effect, rule)
    assert (await decide(changed, who, name))[0] == other_effect != effect
