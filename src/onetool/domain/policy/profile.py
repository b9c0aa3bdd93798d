"""A profile: a named part of the tools, for clients that need no more."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from onetool.domain.calls.effect import Effect
from onetool.domain.tools.tool import OWN_PACK, ToolSpec

from .approval_rules import ApprovalRules
from .rule import Rule, first_match


@dataclass(frozen=True, slots=True)
class Profile:
    """What the callers with this profile may call. It only restricts what the other settings allow."""

    name: str
    packs: Sequence[str] | None = None
    """Name patterns of packs."""
    servers: Sequence[str] | None = None
    """Name patterns of servers. If neither packs nor servers are set, all of both are included."""
    exclude: Sequence[str] = ()
    """Name patterns of tools."""
    approval: ApprovalRules = field(default_factory=ApprovalRules)
    mode: Effect = Effect.ALLOW
    """What happens to tools that are not read-only and match no pattern of `approval`."""

    @property
    def origin(self) -> str:
        """The path of its settings."""
        return f"profiles.{self.name}"

    def pack_rule(self, pack: str) -> Rule | None:
        """Return the rule that hides a pack or server; None if it is included."""
        if pack == OWN_PACK or (self.packs is None and self.servers is None):
            return None
        included = (*(self.packs or ()), *(self.servers or ()))
        if first_match(included, (pack,)) is not None:
            return None
        key = "servers" if self.packs is None else "packs"
        return Rule(Effect.HIDDEN, f"{self.origin}.{key}", ", ".join(included) or "[]")

    def hiding_rule(self, tool: ToolSpec) -> Rule | None:
        """Return the rule that hides a tool; None if it is included."""
        if self.exclude and (pattern := first_match(self.exclude, tool.names)) is not None:
            return Rule(Effect.HIDDEN, f"{self.origin}.exclude", pattern)
        return self.pack_rule(tool.pack)

    def approval_rule(self, tool: ToolSpec, implementation: ToolSpec) -> Rule:
        """Return the rule of the profile about approval."""
        default = Rule(self.mode, f"{self.origin}.approval.mode", str(self.mode))
        return self.approval.rule(tool, implementation, default)
