"""What the members of a workspace may call: roles, patterns, grants and limited keys."""

import itertools
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.errors import MemberError
from onetool.domain.identity.principal import LOCAL, Principal, may_read
from onetool.domain.identity.roles import RIGHTS, Right, Role, roles_with
from onetool.domain.policy.approval_rules import ApprovalRules
from onetool.domain.policy.member import (
    MAX_PATTERN_LENGTH,
    MAX_PATTERNS,
    Member,
    MemberKind,
    check_member,
    check_patterns,
)
from onetool.domain.policy.policy import Policy
from onetool.domain.policy.rights import NO_RIGHTS, Grant, Membership, Rights, may_include
from onetool.domain.tools.tool import ToolSpec

ALLOW, ASK, DENY, HIDDEN = Effect.ALLOW, Effect.ASK, Effect.DENY, Effect.HIDDEN
CALLER, MAKER, OWNER, AUDITOR = Role.CALLER, Role.MAKER, Role.OWNER, Role.AUDITOR
PERSON = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"


def spec(name="notes.add", *, read_only=False, origin="bundle"):
    origin = "builtin" if name == "ot.find" else origin
    return ToolSpec(name=name, description="", input_schema={}, read_only=read_only, origin=origin)


class Known(dict):
    """The rights of members by principal."""

    def of(self, principal):
        return self.get(principal, NO_RIGHTS)


def policy(*memberships, grants=(), allow=(), deny=()):
    rights = Rights(tuple(memberships), tuple(grants))
    return Policy(ApprovalRules("approval", allow, deny), members=Known(anna=rights))


def model(patterns=()):
    return Caller(interface="ask", principal=Principal("anna", tuple(patterns)))


def user():
    return Caller(interface="rest", default_effect=ALLOW, principal=Principal("anna"))


READ = spec("notes.read", read_only=True)
LIMITED = Membership(CALLER, ("notes.*",))
GROUP = Membership(MAKER, (), "dev")
SITUATIONS = {
    "a caller reads": (policy(Membership(CALLER)), READ, model(), ALLOW, "the tool is read-only"),
    "a caller changes": (policy(Membership(CALLER)), spec(), model(), ASK, "the tool is not read-only"),
    "a maker calls": (policy(Membership(MAKER)), spec(), user(), ALLOW, "the user makes the call"),
    "an owner calls": (policy(Membership(OWNER)), spec(), user(), ALLOW, "the user makes the call"),
    "a group gives a role": (policy(GROUP), spec(), user(), ALLOW, "the user makes the call"),
    "an auditor": (policy(Membership(AUDITOR)), READ, user(), HIDDEN, "members: auditor (the member)"),
    "no member": (policy(), READ, user(), HIDDEN, "members: not a member of the workspace"),
    "no member finds nothing": (
        policy(),
        spec("ot.find", read_only=True),
        user(),
        HIDDEN,
        "members: not a member of the workspace",
    ),
    "inside the patterns": (policy(LIMITED), READ, model(), ALLOW, "the tool is read-only"),
    "outside the patterns": (
        policy(LIMITED),
        spec("mail.send"),
        user(),
        HIDDEN,
        "members: caller of notes.* (the member)",
    ),
    "the own pack is always inside": (
        policy(LIMITED),
        spec("ot.find", read_only=True),
        model(),
        ALLOW,
        "the tool is read-only",
    ),
    "another tool that is named like the own pack is not inside": (
        policy(LIMITED),
        spec("ot.mine"),
        user(),
        HIDDEN,
        "members: caller of notes.* (the member)",
    ),
    "a second role adds tools": (
        policy(LIMITED, Membership(CALLER, ("mail.*",), "dev")),
        spec("mail.send"),
        user(),
        ALLOW,
        "the user makes the call",
    ),
    "an auditor who also calls": (
        policy(Membership(AUDITOR), LIMITED),
        READ,
        model(),
        ALLOW,
        "the tool is read-only",
    ),
    "a grant allows": (
        policy(Membership(CALLER), grants=[Grant(ALLOW, "notes.*")]),
        spec(),
        model(),
        ALLOW,
        "grant to the member: allow notes.*",
    ),
    "a grant asks": (
        policy(Membership(CALLER), grants=[Grant(ASK, "notes.*", "dev")]),
        READ,
        user(),
        ASK,
        "grant to group dev: ask notes.*",
    ),
    "a grant denies": (
        policy(Membership(OWNER), grants=[Grant(DENY, "notes.*")]),
        READ,
        user(),
        DENY,
        "grant to the member: deny notes.*",
    ),
    "deny beats ask and allow": (
        policy(
            Membership(OWNER),
            grants=[Grant(ALLOW, "*"), Grant(ASK, "notes.*"), Grant(DENY, "notes.add", "dev")],
        ),
        spec(),
        user(),
        DENY,
        "grant to group dev: deny notes.add",
    ),
    "ask beats allow": (
        policy(Membership(OWNER), grants=[Grant(ALLOW, "*"), Grant(ASK, "notes.*")]),
        spec(),
        model(),
        ASK,
        "grant to the member: ask notes.*",
    ),
    "the settings deny what a grant allows": (
        policy(Membership(OWNER), grants=[Grant(ALLOW, "*")], deny=["notes.*"]),
        spec(),
        model(),
        DENY,
        "approval.deny: notes.*",
    ),
    "a grant asks although the settings allow": (
        policy(Membership(OWNER), grants=[Grant(ASK, "*")], allow=["*"]),
        spec(),
        model(),
        ASK,
        "grant to the member: ask *",
    ),
    "a grant does not widen patterns": (
        policy(LIMITED, grants=[Grant(ALLOW, "*")]),
        spec("mail.send"),
        user(),
        HIDDEN,
        "members: caller of notes.* (the member)",
    ),
    "a key is limited": (
        policy(Membership(OWNER)),
        spec("mail.send"),
        model(["notes.*"]),
        HIDDEN,
        "the API key is limited to: notes.*",
    ),
    "a key with wider patterns than its owner": (
        policy(LIMITED),
        spec("mail.send"),
        model(["*"]),
        HIDDEN,
        "members: caller of notes.* (the member)",
    ),
    "a limited key finds tools": (
        policy(Membership(OWNER)),
        spec("ot.find", read_only=True),
        model(["notes.*"]),
        ALLOW,
        "the tool is read-only",
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_rule_that_decides(situation):
    rules, tool, caller, effect, rule = SITUATIONS[situation]
    decision = rules.decide(tool, tool, caller)
    assert (decision.effect, str(decision.rule)) == (effect, rule)
    assert rules.is_visible(tool, caller) == (effect is not HIDDEN)


def test_denying_grant_applies_to_the_tool_that_implements_another():
    rules = policy(Membership(OWNER), grants=[Grant(DENY, "mail.send")])
    decision = rules.decide(spec(), spec("mail.send"), user())
    assert decision.effect is DENY


@pytest.mark.parametrize(
    ("rules", "caller", "is_restricted"),
    [
        (policy(Membership(OWNER)), user(), False),
        (policy(LIMITED), user(), True),
        (policy(LIMITED, GROUP), user(), False),
        (policy(Membership(AUDITOR)), user(), True),
        (policy(Membership(OWNER)), model(["x.*"]), True),
        (Policy(), Caller(interface="ask", allowed=frozenset()), True),
        (Policy(), Caller(interface="ask", principal=LOCAL.with_profile("p")), True),
        (Policy(), Caller(interface="ask"), False),
    ],
)
def test_callers_that_see_only_a_part_of_the_tools(rules, caller, is_restricted):
    assert rules.is_restricted(caller) is is_restricted


def test_packs_are_hidden_by_roles_and_by_keys():
    assert policy(LIMITED).pack_rule("notes", user()) is None
    assert str(policy(LIMITED).pack_rule("mail", user())) == "members: caller of notes.* (the member)"
    assert policy(LIMITED).pack_rule("ot", user()) is None
    key = policy(Membership(OWNER)).pack_rule("mail", model(["notes.*"]))
    assert str(key) == "the API key is limited to: notes.*"
    assert policy(Membership(AUDITOR)).pack_rule("ot", user()) is not None


@pytest.mark.parametrize(
    ("rules", "caller", "rule"),
    [
        (policy(Membership(CALLER)), user(), None),
        (policy(LIMITED), user(), None),
        (policy(Membership(CALLER, ("no*",))), user(), None),
        (
            policy(Membership(CALLER, ("notes.read",))),
            user(),
            "members: caller of notes.read (the member)",
        ),
        (policy(Membership(CALLER, ("*.read",))), user(), "members: caller of *.read (the member)"),
        (policy(Membership(AUDITOR)), user(), "members: auditor (the member)"),
        (policy(Membership(OWNER)), model(["notes.*"]), None),
        (policy(Membership(OWNER)), model(["notes.r*"]), "the API key is limited to: notes.r*"),
        (policy(Membership(OWNER)), model(["mail.*"]), "the API key is limited to: mail.*"),
        (
            policy(Membership(OWNER), grants=[Grant(DENY, "notes.*")]),
            user(),
            "grant to the member: deny notes.*",
        ),
        (policy(Membership(OWNER), grants=[Grant(ASK, "*")]), user(), "grant to the member: ask *"),
        (policy(Membership(OWNER), grants=[Grant(ALLOW, "*"), Grant(DENY, "notes.add")]), user(), None),
        (Policy(), Caller(interface="ask"), None),
    ],
)
def test_resources_and_prompts_are_for_callers_of_all_tools_of_a_server(rules, caller, rule):
    found = rules.contents_rule("notes", caller)
    assert (None if found is None else str(found)) == rule


LETTERS = st.text("ab.*?[]!", min_size=1, max_size=6)


@given(LETTERS, st.text("ab", min_size=1, max_size=2), st.text("ab", min_size=1, max_size=2))
def test_pack_with_a_tool_that_a_pattern_names_is_never_hidden(pattern, pack, function):
    if fnmatchcase(f"{pack}.{function}", pattern):
        assert may_include([pattern], pack)


@pytest.mark.parametrize(
    ("pattern", "pack", "is_possible"),
    [("a.*", "a", True), ("a.*", "ab", False), ("*", "a", True), ("ab*", "a", False), ("a", "a", False)],
)
def test_packs_that_a_pattern_may_name(pattern, pack, is_possible):
    assert may_include([pattern], pack) is is_possible


def test_rights_of_roles():
    assert roles_with(Right.CALL) == [OWNER, MAKER, CALLER]
    assert roles_with(Right.MANAGE) == [OWNER]
    assert RIGHTS[AUDITOR] == {Right.AUDIT, Right.SEE_ALL_CALLS}
    for less, more in itertools.pairwise((CALLER, MAKER, OWNER)):
        assert RIGHTS[less] < RIGHTS[more]
    assert not NO_RIGHTS.may(Right.READ)


@pytest.mark.parametrize(
    ("kind", "id"),
    [
        (MemberKind.SERVICE, ""),
        (MemberKind.SERVICE, PERSON),
        (MemberKind.SERVICE, "a b"),
        (MemberKind.SERVICE, "-x"),
        (MemberKind.SERVICE, "operator"),
        (MemberKind.PERSON, "anna@example.com"),
        (MemberKind.GROUP, "developers"),
        (MemberKind.PERSON, PERSON.upper()),
    ],
)
def test_invalid_ids_of_members_are_refused(kind, id):
    with pytest.raises(MemberError, match="is not "):
        check_member(Member(kind, id, CALLER))


@pytest.mark.parametrize("role", [OWNER, MAKER, AUDITOR])
def test_patterns_limit_only_callers(role):
    """A maker could store a tool with another name."""
    with pytest.raises(MemberError, match=f"do not limit the role {role}"):
        check_member(Member(MemberKind.SERVICE, "ci", role, ("github.*",)))


def test_scope_of_a_limited_key_is_its_own():
    anna, limited = Principal("anna"), Principal("anna", ("a.*", "b.*"))
    assert anna.scope == "anna"
    assert limited.scope == Principal("anna", ("b.*", "a.*")).scope
    assert len({anna.scope, limited.scope, Principal("anna", ("a.*",)).scope}) == 3
    assert Principal.of_scope(limited.scope, limited.patterns) == limited


def test_scope_of_a_client_with_a_profile_is_its_own():
    anna, limited = Principal("anna"), Principal("anna", ("a.*",))
    names = ("", "part", "other", "['a.*']")
    scopes = [principal.with_profile(name).scope for principal in (anna, limited) for name in names]
    assert len(set(scopes)) == len(scopes)
    assert anna.with_profile("part").with_profile("") == anna.with_profile("part")
    part = limited.with_profile("part")
    assert Principal.of_scope(part.scope, part.patterns, "", "part") == part


def test_principal_reads_what_belongs_to_it_and_without_limits_all_of_its_id():
    anna, limited = Principal("anna"), Principal("anna", ("a.*",))
    everyone = [anna, limited, anna.with_profile("part"), limited.with_profile("part"), Principal("ann")]
    reads = {(r, o) for r in everyone for o in everyone if may_read(r.scope, o.scope)}
    assert reads == {(one, one) for one in everyone} | {(anna, other) for other in everyone[1:4]}


def test_valid_members_are_accepted():
    check_member(Member(MemberKind.SERVICE, "ci@team.example", CALLER, ("github.*",)))
    check_member(Member(MemberKind.PERSON, PERSON, OWNER))


@pytest.mark.parametrize(
    "patterns",
    [[""], ["  "], ["a\0b"], ["a\n"], ["x" * (MAX_PATTERN_LENGTH + 1)], ["x"] * (MAX_PATTERNS + 1)],
)
def test_invalid_patterns_are_refused(patterns):
    with pytest.raises(MemberError, match=r"pattern"):
        check_patterns(patterns)
