"""What members of a hosted workspace may call: roles, rights, tools and interfaces in combination.

The oracle below states the rules in plain terms. It uses no code of the policy.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeVar

import pytest
from pytest_asyncio import fixture as async_fixture

from interfaces.rights_calls import (
    Probe,
    call_from_a_tool,
    call_in_approved_chat,
    call_in_chat,
    call_in_code,
    call_in_the_queue,
    call_over_mcp,
    call_over_rest,
    call_with_approval,
)
from interfaces.rights_world import AUDITOR, Holder, MemberGroup, RightsWorld, open_world
from support.prompted_model import PromptedModel

CONCURRENT = 12
"""Calls in progress."""
PROBES, RELAY = "probes.*", "relay.*"
DENIED_IN_SETTINGS = "sealed.*"
READ_ONLY = {"read": True, "write": False}
"""The tools of each pack."""
CALLED = [f"{pack}.{tool}" for pack in ("probes", "sealed") for tool in READ_ONLY]
T = TypeVar("T")
pytestmark = pytest.mark.asyncio(loop_scope="module")


class Rights(NamedTuple):
    """A combination of rights, apart from the role."""

    patterns: tuple[str, ...] = ()
    """Of the membership."""
    grants: tuple[tuple[str, str], ...] = ()
    group_grants: tuple[tuple[str, str], ...] = ()
    """Of a group that gives no right to call."""
    group_patterns: tuple[str, ...] = ()
    """Of a group that gives the role of a caller for some tools."""
    key: tuple[str, ...] = ()
    pack: str = "probes"


BASIC_RIGHTS = {
    "no-grants": Rights(),
    "allow": Rights(grants=(("allow", PROBES),)),
    "ask": Rights(grants=(("ask", PROBES),)),
    "deny": Rights(grants=(("deny", PROBES),)),
    "group-asks": Rights(group_grants=(("ask", PROBES),)),
    "limited-membership": Rights(patterns=(RELAY, "probe.*")),
    "limited-key": Rights(key=(RELAY, "*.rea")),
    "denied-in-settings": Rights(pack="sealed"),
}
MORE_RIGHTS = {
    "group-allows": Rights(group_grants=(("allow", PROBES),)),
    "group-denies": Rights(group_grants=(("deny", PROBES),)),
    "ask-beats-allow": Rights(grants=(("allow", "*"),), group_grants=(("ask", PROBES),)),
    "deny-beats-all": Rights(
        grants=(("allow", "probes.?*"), ("ask", PROBES)), group_grants=(("deny", "p*"),)
    ),
    "grant-of-others": Rights(grants=(("deny", "probes.rea"), ("ask", "robes.*"), ("allow", "x.*"))),
    "grant-widens-nothing": Rights(patterns=(RELAY,), grants=(("allow", "*"),)),
    "memberships-add-up": Rights(patterns=(RELAY,), group_patterns=("probes.w*",)),
    "wide-key-of-limited-member": Rights(patterns=(RELAY,), key=("*",)),
    "fitting-key": Rights(key=(RELAY, "probes.[rw]*")),
    "settings-beat-grants": Rights(pack="sealed", grants=(("allow", "sealed.*"), ("ask", "*.write"))),
}
ROLES = ("owner", "maker", "caller", "auditor", "group", "left")
"""`group`: a caller through a group. `left`: was one, but is in no group any more."""
ROLES_WITH_MORE = ("caller", "group")


def holder(role: str, name: str, rights: Rights) -> Holder:
    """Return the principal with a role and rights."""
    full, groups = f"{role}-{name}", list[MemberGroup]()
    is_own = role not in ("group", "left")
    if not is_own:
        groups.append(MemberGroup(f"{full}-callers", "caller", rights.patterns, rights.grants))
    if rights.group_grants:
        groups.append(MemberGroup(f"{full}-granted", "auditor", (), rights.group_grants))
    if rights.group_patterns:
        groups.append(MemberGroup(f"{full}-more", "caller", rights.group_patterns))
    return Holder(
        full,
        role if is_own else "",
        rights.patterns if is_own else (),
        rights.grants if is_own else (),
        tuple(groups),
        rights.key,
        "groups" if role == "left" else "",
    )


class Column(NamedTuple):
    """A principal, and the pack whose tools it calls."""

    holder: Holder
    pack: str
    has_more: bool
    """Whether it also calls through the interfaces that differ little from others."""


COLUMNS = [
    Column(holder(role, name, rights), rights.pack, role in ROLES_WITH_MORE)
    for role in ROLES
    for name, rights in (BASIC_RIGHTS | (MORE_RIGHTS if role in ROLES_WITH_MORE else {})).items()
    if not (rights.patterns and role in ("owner", "maker", "auditor"))  # patterns limit only callers
]
REMOVED = Holder("removed", "caller", loses="membership")
"""Its API key is revoked with its membership."""


class Interface(NamedTuple):
    """A way to make calls."""

    call: Callable[[RightsWorld, Probe], Awaitable[str]]
    workspace: str
    kind: str
    """Who calls: `user`, `model` or `mcp`."""
    approves: bool = False
    """Whether a person approves what is asked."""
    is_for_all: bool = True
    """Whether all principals use it."""


INTERFACES = {
    "rest": Interface(call_over_rest, "run", "user"),
    "rest-approved": Interface(call_with_approval, "run", "user", approves=True, is_for_all=False),
    "code": Interface(call_in_code, "run", "user"),
    "nested": Interface(call_from_a_tool, "run", "user"),
    "queue": Interface(call_in_the_queue, "run", "user"),
    "chat": Interface(call_in_chat, "run", "model"),
    "chat-approved": Interface(call_in_approved_chat, "run", "model", approves=True, is_for_all=False),
    "mcp-run": Interface(partial(call_over_mcp, expose="run"), "run", "mcp"),
    "mcp-search": Interface(partial(call_over_mcp, expose="search"), "search", "mcp"),
    "mcp-all": Interface(partial(call_over_mcp, expose="all"), "all", "mcp"),
    "mcp-allowed": Interface(partial(call_over_mcp, expose="search"), "allowed", "mcp", is_for_all=False),
}
APPROVAL_OF_MCP = {"run": "ask", "search": "ask", "all": "ask", "allowed": "allow"}
"""The setting `approval.mcp` of each workspace."""
EXPOSURES = {"run": "run", "search": "search", "all": "all", "allowed": "search"}


OUTCOMES = {"runs", "asked", "denied", "unknown", "refused 403"}
"""`asked`: and not approved. `refused 403`: not the call is refused, but the request."""
CALLERS = {"cli": INTERFACES["rest"], "ask": INTERFACES["chat"], "mcp": INTERFACES["mcp-run"]}
"""The callers in `/access`, and how they call."""


class Expected(NamedTuple):
    """What the rules say about a call."""

    outcome: str
    decision: str = ""
    """As recorded; empty if there is nothing to record."""


def expect(column: Column, tool: str, interface: Interface) -> Expected:
    """Return what the rules say. Each paragraph is one of them, the strongest first."""
    who, name = column.holder, f"{column.pack}.{tool}"

    # Who is not a member may do nothing, and auditors may not call.
    # A key that is limited to tools is only for calls, not for chats.
    if refuses(who) or (who.key and interface.kind == "model"):
        return Expected("refused 403")

    # Tools outside the memberships, or outside the key, do not exist.
    if rule := hiding_rule(who, name):
        return Expected("unknown", f"hidden: {rule}")

    # The settings beat grants, deny beats ask, and ask beats allow.
    if fnmatchcase(name, DENIED_IN_SETTINGS):
        return Expected("denied", f"deny: approval.deny: {DENIED_IN_SETTINGS}")
    if rule := grant_rule(who, "deny", name):
        return Expected("denied", f"deny: {rule}")
    if rule := grant_rule(who, "ask", name):
        return asked(usual_question(column, tool, interface) or rule, interface)

    # Without a grant that asks, usual questions are asked, and other calls run.
    if rule := usual_question(column, tool, interface):
        return asked(rule, interface)
    return Expected("runs", f"allow: {allowing_rule(column, tool, interface)}")


def usual_question(column: Column, tool: str, interface: Interface) -> str:
    """Return the rule by which a person must approve a call, whatever grants ask; empty if there is none.

    Models are asked about, and a setting decides about MCP clients, if the tool is not read-only. A grant can
    allow such calls.
    """
    if READ_ONLY[tool] or grant_rule(column.holder, "allow", f"{column.pack}.{tool}"):
        return ""
    if interface.kind == "model":
        return "the tool is not read-only"
    is_asked = interface.kind == "mcp" and APPROVAL_OF_MCP[interface.workspace] == "ask"
    return "approval.mcp: ask" if is_asked else ""


def allowing_rule(column: Column, tool: str, interface: Interface) -> str:
    """Return the rule by which a call runs."""
    if READ_ONLY[tool]:
        return "the tool is read-only"
    if rule := grant_rule(column.holder, "allow", f"{column.pack}.{tool}"):
        return rule
    return "the user makes the call" if interface.kind == "user" else "approval.mcp: allow"


def refuses(who: Holder) -> bool:
    """Return whether all requests to call something are refused."""
    return bool(who.loses) or who.role == "auditor"


def access(column: Column, tool: str, interface: Interface) -> str:
    """Return what `/access` says: the decision, or why the tool does not exist."""
    if rule := hiding_rule(column.holder, f"{column.pack}.{tool}"):
        return f"hidden: {rule}"
    return expect(column, tool, interface).decision


def asked(rule: str, interface: Interface) -> Expected:
    """Return what happens to a call that a person must approve."""
    if interface.approves:
        return Expected("runs", f"ask: {rule}; approved")
    return Expected("asked", f"ask: {rule}")


def hiding_rule(who: Holder, name: str) -> str:
    """Return the rule by which a tool does not exist for someone; empty if it does."""
    roles = [(who.role, who.patterns, "the member")] if who.role else []
    roles += [(group.role, group.patterns, f"group {group.name}") for group in who.groups]
    if not any(role != "auditor" and fits(name, patterns) for role, patterns, _ in roles):
        limits = [
            f"{role} of {', '.join(patterns)} ({whose})" if patterns else f"{role} ({whose})"
            for role, patterns, whose in roles
        ]
        return f"members: {'; '.join(limits)}"
    return "" if fits(name, who.key) else f"the API key is limited to: {', '.join(who.key)}"


def fits(name: str, patterns: tuple[str, ...]) -> bool:
    """Return whether patterns include a tool. Without patterns, every tool is included."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


def grant_rule(who: Holder, effect: str, name: str) -> str:
    """Return the rule of a grant with an effect on a tool; empty if there is none."""
    grants = [("the member", who.grants), *((f"group {group.name}", group.grants) for group in who.groups)]
    rules = [
        f"grant to {whose}: {effect} {pattern}"
        for whose, given in grants
        for own_effect, pattern in given
        if own_effect == effect and fnmatchcase(name, pattern)
    ]
    return rules[0] if rules else ""


def cells() -> dict[str, tuple[Column, str, str]]:
    """Return the column, the tool and the interface of each cell, by a name that is its argument."""
    return {
        f"{column.holder.name}.{tool}.{name}": (column, tool, name)
        for column, tool, (name, interface) in product(COLUMNS, READ_ONLY, INTERFACES.items())
        if column.has_more or interface.is_for_all
    }


def fewer(table: Mapping[str, tuple[Column, str, str]]) -> dict[str, tuple[Column, str, str]]:
    """Return cells with each role and all rights at each interface, and both with each kind of caller.

    Each decision about each kind of caller is among them.
    """
    seen, chosen = set[tuple[str, ...]](), dict[str, tuple[Column, str, str]]()
    for mark, (column, tool, name) in table.items():
        role, _, rights = column.holder.name.partition("-")
        kind = INTERFACES[name].kind
        decision = expect(column, tool, INTERFACES[name]).decision
        shown = {(role, name), (rights, name), (role, tool, kind), (rights, tool, kind), (role, rights, kind)}
        shown.add((decision, kind))
        if not shown <= seen:
            seen |= shown
            chosen[mark] = table[mark]
    return chosen


def probe_of(mark: str, column: Column, tool: str, interface: Interface) -> Probe:
    """Return the call of a cell."""
    return Probe(interface.workspace, column.holder.name, f"{column.pack}.{tool}", mark)


def settings(model: PromptedModel, workspace: str) -> dict[str, Any]:
    """Return the settings of a workspace."""
    approval = {"mcp": APPROVAL_OF_MCP[workspace], "deny": [DENIED_IN_SETTINGS]}
    provider = {"base_url": model.base_url, "model": "m"}
    return {"expose": EXPOSURES[workspace], "approval": approval, "providers": {"fake": provider}}


async def recorded(world: RightsWorld, workspace: str) -> dict[str, str]:
    """Return what was decided about the calls of a workspace, by their argument."""
    ids, cursor = list[str](), dict[str, str]()
    while True:
        query = {"limit": "200", "tool": "*.*"} | cursor
        page = (await world.request(workspace, AUDITOR, "GET", "/activity", params=query)).json()
        ids += [record["id"] for record in page["records"] if record["tool"] in CALLED]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    found = await gather([world.request(workspace, AUDITOR, "GET", f"/activity/{id}") for id in ids])
    records = [response.json() for response in found]
    return {json.loads(record["arguments"])["mark"]: record["decision"] for record in records}


async def gather(work: Sequence[Awaitable[T]]) -> list[T]:
    """Do some of the work at a time."""
    slots = asyncio.Semaphore(CONCURRENT)

    async def do(item: Awaitable[T]) -> T:
        async with slots:
            return await item

    return await asyncio.gather(*map(do, work))


def check(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> None:
    """Fail with a line for each cell that is wrong."""
    wrong = [mark for mark in expected if expected[mark] != actual[mark]]
    lines = [f"{mark}: expected {expected[mark]}, not {actual[mark]}" for mark in wrong]
    if wrong:
        pytest.fail("\n".join([f"{len(wrong)} of {len(expected)} cells are wrong.", *lines]))


@async_fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory):
    more = [column.holder for column in COLUMNS if column.has_more]
    every = [column.holder for column in COLUMNS]
    holders = dict.fromkeys(APPROVAL_OF_MCP, every) | {"allowed": more, "run": [*every, REMOVED]}
    with PromptedModel() as model:
        configured = {name: settings(model, name) for name in APPROVAL_OF_MCP}
        async with open_world(tmp_path_factory.mktemp("rights"), holders, configured) as world:
            yield world


@pytest.mark.guards("member-rights")
@pytest.mark.stress
async def test_calls_run_or_not_as_the_rules_say_and_the_rule_is_recorded(world, size):
    """What the caller sees, whether the tool has run, and what is recorded must all agree."""
    table = size(fewer, dict)(cells())
    work = [
        INTERFACES[name].call(world, probe_of(mark, column, tool, INTERFACES[name]))
        for mark, (column, tool, name) in table.items()
    ]
    views = dict(zip(table, await gather(work), strict=True))
    decisions = dict[str, str]()
    for workspace in APPROVAL_OF_MCP:
        decisions |= await recorded(world, workspace)
    rules = {mark: expect(column, tool, INTERFACES[name]) for mark, (column, tool, name) in table.items()}
    for mark, rule in rules.items():
        if rule.outcome == "unknown" and mark not in decisions:  # code with unknown names makes no call
            rules[mark] = Expected("unknown")
    expected = {mark: (rule.outcome, rule.outcome == "runs", rule.decision) for mark, rule in rules.items()}
    assert any(decision.startswith("hidden: ") for decision in decisions.values())
    actual = {mark: (views[mark], world.ran(mark), decisions.get(mark, "")) for mark in table}
    check(expected, actual)
    assert len(table) >= size(400, 1_000)
    assert {outcome for outcome, _, _ in expected.values()} == OUTCOMES


async def test_access_names_the_rule_that_decides(world):
    """Each kind of caller, for those who may read it: also why a tool does not exist."""
    readers = [column for column in COLUMNS if not refuses(column.holder) and not column.holder.key]
    table = {f"{column.holder.name}.{tool}": (column, tool) for column, tool in product(readers, READ_ONLY)}
    expected = {
        f"{mark}.{kind}": access(column, tool, interface)
        for mark, (column, tool) in table.items()
        for kind, interface in CALLERS.items()
    }
    responses = await gather(
        [
            world.request("run", column.holder.name, "GET", f"/access/{column.pack}.{tool}")
            for column, tool in table.values()
        ]
    )
    actual = {}
    for mark, response in zip(table, responses, strict=True):
        for decision in response.json()["decisions"]:
            first = decision["rules"][0]
            value = f": {first['value']}" if first["value"] else ""
            actual[f"{mark}.{decision['interface']}"] = f"{decision['effect']}: {first['origin']}{value}"
    check(expected, actual)


async def test_key_of_a_removed_member_is_refused(world):
    column = Column(REMOVED, "probes", has_more=False)
    for tool, name in product(READ_ONLY, ("rest", "mcp-run")):  # few: wrong keys are delayed
        probe = probe_of(f"removed.{tool}.{name}", column, tool, INTERFACES[name])
        assert await INTERFACES[name].call(world, probe) == "refused 401"
        assert not world.ran(probe.mark)
