"""The policy of the settings: one decision for each caller and tool, for every interface."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.domain.identity.roles import Right
from onetool.domain.tools.tool import OWN_PACK, Origin, ToolSpec

from .approval_rules import ApprovalRules
from .name_filter import NameFilter
from .profile import Profile
from .rights import KEY, MemberRights, Rights, includes_all, is_included, may_include
from .rule import Decision, Rule, decide

DISABLED = "the tool is disabled"
ALLOW_LIST = "the caller's list of allowed tools"
DEFAULTS: Mapping[Effect, str] = {
    Effect.ALLOW: "the user makes the call",
    Effect.ASK: "the tool is not read-only",
    Effect.DENY: "the tool is not read-only, and the caller may not change anything",
}
"""Why a tool that is not read-only is treated like this, by the caller's own default."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Decides whether a caller sees a tool and may call it. The most restrictive rule wins."""

    approval: ApprovalRules = field(default_factory=ApprovalRules)
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    servers: Mapping[str, NameFilter] = field(default_factory=dict)
    """The tools of each server that the settings include."""
    members: MemberRights | None = None
    """The rights of the members of a workspace. None: there is one user, who may do everything."""

    def decide(self, tool: ToolSpec, implementation: ToolSpec, caller: Caller) -> Decision:
        """Decide about a call of a tool, which another one may implement."""
        hiding = self.hiding_rule(tool, caller)
        rules = [] if hiding is None else [hiding]
        if not implementation.enabled and implementation is not tool:
            rules.append(_disabled(implementation))
        rights = self._rights(caller)
        default = (rights.allow_rule(tool) if rights else None) or _default(caller)
        rules.append(self.approval.rule(tool, implementation, default))
        if rights:
            rules += rights.restrictions(tool, implementation)
        if (profile := self.profiles.get(caller.profile)) is not None:
            rules.append(profile.approval_rule(tool, implementation))
        return decide(rules)

    def hiding_rule(self, tool: ToolSpec, caller: Caller) -> Rule | None:
        """Return the rule that hides a tool from a caller; None if the caller sees it."""
        if not tool.enabled:
            return _disabled(tool)
        if caller.allowed is not None and not any(name in caller.allowed for name in tool.names):
            return Rule(Effect.HIDDEN, ALLOW_LIST)
        return self.access_rule(tool, caller)

    def access_rule(self, tool: ToolSpec, caller: Caller) -> Rule | None:
        """Return the rule by which a tool does not exist for a caller: of its rights, key or profile."""
        rights, patterns = self._rights(caller), caller.principal.patterns
        if rights and (rule := rights.hiding_rule(tool)) is not None:
            return rule
        if not is_included(patterns, tool):
            return Rule(Effect.HIDDEN, KEY, ", ".join(patterns))
        if not caller.profile:
            return None
        profile = self.profiles.get(caller.profile)
        return _missing(caller) if profile is None else profile.hiding_rule(tool)

    def is_restricted(self, caller: Caller) -> bool:
        """Whether a caller sees only a part of the tools."""
        rights = self._rights(caller)
        return (
            caller.allowed is not None
            or bool(caller.profile or caller.principal.patterns)
            or (rights is not None and rights.is_restricted)
        )

    def is_visible(self, tool: ToolSpec, caller: Caller) -> bool:
        """Whether a caller sees a tool."""
        return self.hiding_rule(tool, caller) is None

    def may_see(self, name: str, caller: Caller) -> bool:
        """Whether a caller would see an enabled tool with this name, or `name@version`."""
        return self.name_rule(name, caller) is None

    def name_rule(self, name: str, caller: Caller) -> Rule | None:
        """Return the rule that hides all tools with a name from a caller, whether there are any or not."""
        bare_name = name.partition("@")[0]
        origin: Origin = "builtin" if bare_name.startswith(f"{OWN_PACK}.") else "pack"
        spec = ToolSpec(name=bare_name, description="", input_schema={}, origin=origin)
        return self.hiding_rule(spec, caller)

    def pack_rule(self, pack: str, caller: Caller) -> Rule | None:
        """Return the rule that hides a whole pack or server from a caller; None if there is none."""
        if caller.allowed is not None and pack not in {
            "config",
            *(name.partition(".")[0] for name in caller.allowed),
        }:
            return Rule(Effect.HIDDEN, ALLOW_LIST)
        rights, patterns = self._rights(caller), caller.principal.patterns
        if rights and (rule := rights.pack_rule(pack)) is not None:
            return rule
        if not may_include(patterns, pack):
            return Rule(Effect.HIDDEN, KEY, ", ".join(patterns))
        if not caller.profile:
            return None
        profile = self.profiles.get(caller.profile)
        return _missing(caller) if profile is None else profile.pack_rule(pack)

    def contents_rule(self, server: str, caller: Caller) -> Rule | None:
        """Return the rule that hides resources, prompts and skills of a server; None if there is none.

        They are for callers that may call all tools of the server.
        """
        if (rule := self.pack_rule(server, caller)) is not None:
            return rule
        rights, patterns = self._rights(caller), caller.principal.patterns
        if not includes_all(patterns, server):
            return Rule(Effect.HIDDEN, KEY, ", ".join(patterns))
        return None if rights is None else rights.contents_rule(server)

    def may_make(self, caller: Caller) -> bool:
        """Whether a caller may change what all members use. A single user may."""
        rights = self._rights(caller)
        return rights is None or (rights.may(Right.MAKE) and not caller.principal.patterns)

    def _rights(self, caller: Caller) -> Rights | None:
        """Return the rights of a caller; None if there is only one user."""
        return None if self.members is None else self.members.of(caller.principal.id)

    def excluded(self, name: str) -> Rule | None:
        """Return the rule of a server's settings that hides one of its tools, by its qualified name."""
        server, _, own_name = name.partition(".")
        filter = self.servers.get(server)
        return None if filter is None else filter.hiding_rule(own_name, f"servers.{server}")


def _disabled(tool: ToolSpec) -> Rule:
    return Rule(Effect.HIDDEN, DISABLED, tool.disabled_reason)


def _missing(caller: Caller) -> Rule:
    """Return the rule for a profile that the settings do not have: it hides everything."""
    return Rule(Effect.HIDDEN, "profiles", f"there is no profile {caller.profile!r}")


def _default(caller: Caller) -> Rule:
    if caller.interface == "mcp":
        return Rule(caller.default_effect, "approval.mcp", str(caller.default_effect))
    return Rule(caller.default_effect, DEFAULTS[caller.default_effect])
