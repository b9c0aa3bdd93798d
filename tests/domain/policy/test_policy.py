"""The policy: which rule decides about a call."""

from dataclasses import replace
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.identity.principal import LOCAL
from onetool.domain.policy.approval_rules import ApprovalRules
from onetool.domain.policy.name_filter import NameFilter
from onetool.domain.policy.policy import Policy
from onetool.domain.policy.profile import Profile
from onetool.domain.policy.rule import Rule
from onetool.domain.tools.tool import ToolSpec

ALLOW, ASK, DENY, HIDDEN = Effect.ALLOW, Effect.ASK, Effect.DENY, Effect.HIDDEN


def spec(name="notes.add", *, read_only=False, **fields):
    return ToolSpec(name=name, description="", input_schema={}, read_only=read_only, **fields)


def person(**fields):
    return Caller(interface="cli", default_effect=ALLOW, **fields)


def model(**fields):
    return Caller(interface="ask", **fields)


def client(effect=ALLOW, **fields):
    return Caller(interface="mcp", default_effect=effect, **fields)


def policy(allow=(), deny=(), **profile):
    profiles = {"part": Profile("part", **profile)} if profile else {}
    return Policy(ApprovalRules("approval", allow, deny), profiles)


def part(**fields):
    return client(principal=LOCAL.with_profile("part"), **fields)


def approval(allow=(), deny=()):
    return ApprovalRules("profiles.part.approval", allow, deny)


DISABLED = spec(enabled=False, disabled_reason="turned off")
READ = spec("notes.read", read_only=True)
FIND = spec("ot.find", read_only=True)
SITUATIONS = {
    "a person changes": (policy(), spec(), person(), ALLOW, "the user makes the call"),
    "a model changes": (policy(), spec(), model(), ASK, "the tool is not read-only"),
    "a model reads": (policy(), READ, model(), ALLOW, "the tool is read-only"),
    "a client changes": (policy(), spec(), client(), ALLOW, "approval.mcp: allow"),
    "a client is asked": (policy(), spec(), client(ASK), ASK, "approval.mcp: ask"),
    "a client is denied": (policy(), spec(), client(DENY), DENY, "approval.mcp: deny"),
    "a denied client reads": (policy(), READ, client(DENY), ALLOW, "the tool is read-only"),
    "allowed for a model": (policy(["notes.*"]), spec(), model(), ALLOW, "approval.allow: notes.*"),
    "allowed for a denied client": (
        policy(["notes.*"]),
        spec(),
        client(DENY),
        ALLOW,
        "approval.allow: notes.*",
    ),
    "denied for a person": (policy(deny=["notes.add"]), spec(), person(), DENY, "approval.deny: notes.add"),
    "denied although read-only": (policy(deny=["*"]), READ, person(), DENY, "approval.deny: *"),
    "denied although allowed": (policy(["*"], ["n*"]), spec(), model(), DENY, "approval.deny: n*"),
    "the second pattern denies": (policy(deny=["x", "n*"]), spec(), model(), DENY, "approval.deny: n*"),
    "disabled": (policy(["*"]), DISABLED, person(), HIDDEN, "the tool is disabled: turned off"),
    "not among the allowed tools": (
        policy(),
        spec(),
        person(allowed=frozenset({"notes.read"})),
        HIDDEN,
        "the caller's list of allowed tools",
    ),
    "among the allowed tools": (
        policy(),
        spec(),
        person(allowed=frozenset({"notes.add"})),
        ALLOW,
        "the user makes the call",
    ),
    "a plain name": (
        policy(deny=["config.plain"]),
        spec("plain"),
        person(),
        DENY,
        "approval.deny: config.plain",
    ),
    "profile without this pack": (policy(packs=["x"]), spec(), part(), HIDDEN, "profiles.part.packs: x"),
    "profile without packs": (policy(packs=[]), spec(), part(), HIDDEN, "profiles.part.packs: []"),
    "profile with this pack": (policy(packs=["n*"]), spec(), part(), ALLOW, "approval.mcp: allow"),
    "profile with other servers": (policy(servers=["x"]), spec(), part(), HIDDEN, "profiles.part.servers: x"),
    "profile with this server": (policy(servers=["notes"]), spec(), part(), ALLOW, "approval.mcp: allow"),
    "profile excludes": (
        policy(packs=["notes"], exclude=["*.add"]),
        spec(),
        part(),
        HIDDEN,
        "profiles.part.exclude: *.add",
    ),
    "OneTool's own pack": (
        policy(packs=[]),
        spec("ot.find", read_only=True),
        part(),
        ALLOW,
        "the tool is read-only",
    ),
    "OneTool's own tool excluded": (
        policy(exclude=["ot.stats"]),
        spec("ot.stats", read_only=True),
        part(),
        HIDDEN,
        "profiles.part.exclude: ot.stats",
    ),
    "profile asks": (policy(mode=ASK), spec(), part(), ASK, "profiles.part.approval.mode: ask"),
    "profile denies": (policy(mode=DENY), spec(), part(), DENY, "profiles.part.approval.mode: deny"),
    "profile does not widen": (policy(mode=ALLOW), spec(), part(effect=ASK), ASK, "approval.mcp: ask"),
    "profile allows a pattern": (
        policy(mode=ASK, approval=approval(["notes.*"])),
        spec(),
        part(),
        ALLOW,
        "approval.mcp: allow",
    ),
    "profile denies a pattern": (
        policy(approval=approval(deny=["notes.*"])),
        spec(),
        part(),
        DENY,
        "profiles.part.approval.deny: notes.*",
    ),
    "settings deny what a profile allows": (
        policy(deny=["notes.*"], approval=approval(["notes.*"])),
        spec(),
        part(),
        DENY,
        "approval.deny: notes.*",
    ),
    "missing profile": (policy(), READ, part(), HIDDEN, "profiles: there is no profile 'part'"),
    "other clients of a profile's server": (policy(packs=[]), spec(), client(), ALLOW, "approval.mcp: allow"),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_policy_names_the_rule_that_decides(name):
    rules, tool, caller, effect, rule = SITUATIONS[name]
    decision = rules.decide(tool, tool, caller)
    assert (decision.effect, str(decision.rule)) == (effect, rule)
    assert decision.rules[0] == decision.rule
    assert rules.is_visible(tool, caller) == (effect is not HIDDEN)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_tool_is_as_restricted_as_its_implementation(read_only):
    """Read-only only if both are; denied and disabled if one is."""
    tool, handler = spec("notes.list", read_only=True), spec("db.query", read_only=read_only)
    assert policy().decide(tool, handler, model()).effect is (ALLOW if read_only else ASK)
    assert policy(deny=["db.*"]).decide(tool, handler, person()).effect is DENY
    assert policy(["db.*"]).decide(tool, spec("db.query"), model()).effect is ASK
    assert policy().decide(tool, replace(handler, enabled=False), person()).effect is HIDDEN


@pytest.mark.parametrize(
    ("filter", "name", "rule"),
    [
        (NameFilter(), "a", None),
        (NameFilter(["a*"]), "ab", None),
        (NameFilter(["a*"]), "b", Rule(HIDDEN, "servers.s.include", "a*")),
        (NameFilter([]), "b", Rule(HIDDEN, "servers.s.include", "[]")),
        (NameFilter(["a*"], ["*b"]), "ab", Rule(HIDDEN, "servers.s.exclude", "*b")),
    ],
)
def test_tools_of_a_server_are_included_or_excluded(filter, name, rule):
    assert Policy(servers={"s": filter}).excluded(f"s.{name}") == rule
    assert Policy(servers={"s": filter}).excluded(f"t.{name}") is None


def test_packs_are_hidden_by_the_allow_list_and_by_the_profile():
    rules = policy(packs=["notes"])
    assert rules.pack_rule("notes", client()) is None
    assert rules.pack_rule("db", client(allowed=frozenset({"notes.add"}))) == Rule(
        HIDDEN, "the caller's list of allowed tools"
    )
    assert rules.pack_rule("config", client(allowed=frozenset({"plain"}))) is None
    assert rules.pack_rule("notes", part()) is None
    assert str(rules.pack_rule("db", part())) == "profiles.part.packs: notes"
    assert rules.pack_rule("notes", replace(part(), principal=LOCAL.with_profile("other"))).effect is HIDDEN


NAMES = st.sampled_from(["notes.add", "notes.read", "db.query", "web.get", "ot.find", "plain"])
PATTERNS = st.lists(
    st.sampled_from(["*", "notes.*", "db.*", "*.add", "web.get", "config.*", "ot.*", "x"]), max_size=3
)
PACKS = st.none() | st.lists(st.sampled_from(["notes", "db", "w*", "config"]), max_size=2)
EFFECTS = st.sampled_from([ALLOW, ASK, DENY])
TOOLS = st.builds(spec, NAMES, read_only=st.booleans(), enabled=st.booleans())
PROFILES = st.builds(
    Profile,
    st.just("part"),
    packs=PACKS,
    servers=PACKS,
    exclude=PATTERNS,
    approval=st.builds(approval, PATTERNS, PATTERNS),
    mode=EFFECTS,
)
CALLERS = st.builds(
    Caller,
    interface=st.sampled_from(["cli", "ask", "mcp", "rest", "python"]),
    default_effect=EFFECTS,
    principal=st.sampled_from([LOCAL, LOCAL.with_profile("part"), LOCAL.with_profile("other")]),
    allowed=st.none() | st.frozensets(NAMES, max_size=4),
)
POLICIES = st.builds(
    lambda allow, deny, profile: Policy(ApprovalRules("approval", allow, deny), {"part": profile}),
    PATTERNS,
    PATTERNS,
    PROFILES,
)


@pytest.mark.guards("client-profile")
@given(POLICIES, TOOLS, TOOLS, CALLERS, st.frozensets(NAMES))
def test_nested_calls_a_profile_and_an_allow_list_only_restrict(rules, tool, handler, caller, names):
    effect = rules.decide(tool, handler, caller).effect
    assert rules.decide(tool, handler, caller.restricted(names)).effect >= effect
    assert rules.decide(tool, handler, caller.nested(1.0, "id")).effect == effect
    assert effect >= rules.decide(tool, handler, replace(caller, principal=LOCAL, allowed=None)).effect
    assert (effect is HIDDEN) == (
        (not handler.enabled and handler is not tool) or not rules.is_visible(tool, caller)
    )


@given(POLICIES, TOOLS, CALLERS)
def test_every_applying_rule_is_named_and_none_is_more_restrictive(rules, tool, caller):
    decision = rules.decide(tool, tool, caller)
    assert decision.effect == max(rule.effect for rule in decision.rules)
    hidden_pack = rules.pack_rule(tool.pack, caller)
    assert hidden_pack is None or decision.effect is HIDDEN


@given(POLICIES, TOOLS, CALLERS.filter(lambda caller: not caller.profile))
def test_settings_without_profiles_decide_as_before_profiles_existed(rules, tool, caller):
    """The decision of approval patterns, allow-list and toggles, written out."""
    if not tool.enabled or (caller.allowed is not None and not set(tool.names) & caller.allowed):
        expected = HIDDEN
    elif matches(rules.approval.deny, tool):
        expected = DENY
    elif tool.read_only or matches(rules.approval.allow, tool):
        expected = ALLOW
    else:
        expected = caller.default_effect
    assert rules.decide(tool, tool, caller).effect is expected


def matches(patterns, tool):
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in tool.names)
