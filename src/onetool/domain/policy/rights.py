"""What a member of a workspace may call: roles, the tools they are limited to, and grants."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from onetool.domain.calls.effect import Effect
from onetool.domain.identity.roles import RIGHTS, Right, Role
from onetool.domain.tools.tool import OWN_PACK, ToolSpec

from .rule import GRANT, Rule, first_match

KEY = "the API key is limited to"
WILDCARDS = "*?["


class Membership(NamedTuple):
    """A role in a workspace, of a person or service, or of a group."""

    role: Role
    patterns: tuple[str, ...] = ()
    """Names or patterns of the tools that may be called; empty: all."""
    group: str = ""
    """The name of the group that has the role; empty if the member has it."""

    def __str__(self) -> str:
        limit = f" of {', '.join(self.patterns)}" if self.patterns else ""
        return f"{self.role}{limit} ({_whom(self.group)})"


class Grant(NamedTuple):
    """An exception for the tools that match a pattern."""

    effect: Effect
    pattern: str
    group: str = ""
    """The name of the group that has it; empty if the member has it."""

    @property
    def rule(self) -> Rule:
        """The rule about a tool that matches the pattern."""
        return Rule(self.effect, f"{GRANT}{_whom(self.group)}", f"{self.effect} {self.pattern}")


@dataclass(frozen=True, slots=True)
class Rights:
    """What one principal may do in a workspace."""

    memberships: Sequence[Membership] = ()
    grants: Sequence[Grant] = ()

    def may(self, right: Right) -> bool:
        """Whether one of the roles allows something."""
        return any(right in RIGHTS[membership.role] for membership in self.memberships)

    @property
    def is_restricted(self) -> bool:
        """Whether only a part of the tools may be called."""
        calling = self._calling()
        return not calling or all(membership.patterns for membership in calling)

    def hiding_rule(self, tool: ToolSpec) -> Rule | None:
        """Return the rule that hides a tool; None if it may be called."""
        calling = self._calling()
        if calling and any(is_included(item.patterns, tool) for item in calling):
            return None
        return Rule(Effect.HIDDEN, "members", self._describe())

    def pack_rule(self, pack: str) -> Rule | None:
        """Return the rule that hides a pack; None if some of its tools may be called."""
        calling = self._calling()
        if calling and any(may_include(item.patterns, pack) for item in calling):
            return None
        return Rule(Effect.HIDDEN, "members", self._describe())

    def contents_rule(self, server: str) -> Rule | None:
        """Return the rule that hides what a server offers besides tools; None if there is none."""
        calling = self._calling()
        if not (calling and any(includes_all(item.patterns, server) for item in calling)):
            return Rule(Effect.HIDDEN, "members", self._describe())
        restricting = (grant for grant in self.grants if grant.effect is not Effect.ALLOW)
        return next((grant.rule for grant in restricting if includes_all((grant.pattern,), server)), None)

    def allow_rule(self, tool: ToolSpec) -> Rule | None:
        """Return the grant by which a tool that is not read-only is called without approval."""
        return next((grant.rule for grant in self._matching(Effect.ALLOW, tool.names)), None)

    def restrictions(self, tool: ToolSpec, implementation: ToolSpec) -> list[Rule]:
        """Return the grants that restrict calls of a tool, which another one may implement."""
        names = (*tool.names, implementation.name)
        return [grant.rule for effect in (Effect.DENY, Effect.ASK) for grant in self._matching(effect, names)]

    def _calling(self) -> list[Membership]:
        return [item for item in self.memberships if Right.CALL in RIGHTS[item.role]]

    def _matching(self, effect: Effect, names: Sequence[str]) -> list[Grant]:
        return [
            grant
            for grant in self.grants
            if grant.effect is effect and first_match((grant.pattern,), names) is not None
        ]

    def _describe(self) -> str:
        return "; ".join(map(str, self.memberships)) or "not a member of the workspace"


NO_RIGHTS = Rights()


class MemberRights(Protocol):
    """The rights of all members of a workspace, as last read."""

    def of(self, principal: str) -> Rights:
        """Return the rights of a principal; none if it is not a member, or if they cannot be read."""
        ...


def is_included(patterns: Sequence[str], tool: ToolSpec) -> bool:
    """Whether patterns name a tool. They always name OneTool's own, and no patterns name all tools."""
    is_own = tool.pack == OWN_PACK and tool.origin == "builtin"
    return not patterns or is_own or first_match(patterns, tool.names) is not None


def may_include(patterns: Sequence[str], pack: str) -> bool:
    """Whether a tool of a pack may be among those that patterns name."""
    return not patterns or pack == OWN_PACK or any(_may_match(pattern, f"{pack}.") for pattern in patterns)


def includes_all(patterns: Sequence[str], pack: str) -> bool:
    """Whether patterns name all tools of a pack."""
    return not patterns or first_match(patterns, (f"{pack}.*",)) is not None


def _may_match(pattern: str, start: str) -> bool:
    """Whether a pattern may match a name with this start."""
    literal = next(
        (pattern[:position] for position, sign in enumerate(pattern) if sign in WILDCARDS), pattern
    )
    return literal.startswith(start) or (literal != pattern and start.startswith(literal))


def _whom(group: str) -> str:
    return f"group {group}" if group else "the member"
