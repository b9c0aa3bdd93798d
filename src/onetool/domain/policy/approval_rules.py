"""Which tools need approval: the same rules for the settings and for a profile."""

from collections.abc import Sequence
from dataclasses import dataclass

from onetool.domain.calls.effect import Effect
from onetool.domain.tools.tool import ToolSpec

from .rule import Rule, first_match

READ_ONLY = Rule(Effect.ALLOW, "the tool is read-only")
EACH_CALL = Rule(Effect.ALLOW, "each call of its program is decided by itself")
"""A tool made of code changes nothing but by calls of other tools."""


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Name patterns of tools that run without approval, and of those that never run."""

    origin: str = "approval"
    """The path of the settings."""
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    """Takes precedence over `allow`."""

    def rule(self, tool: ToolSpec, implementation: ToolSpec, default: Rule) -> Rule:
        """Return the rule for a call of a tool, which another one may implement.

        default: the rule for tools that are not read-only and match no pattern.
        """
        if self.deny:
            pattern = first_match(self.deny, (*tool.names, implementation.name))
            if pattern is not None:
                return Rule(Effect.DENY, f"{self.origin}.deny", pattern)
        if tool.read_only and implementation.read_only:
            return READ_ONLY
        if implementation.impl == "code":
            return EACH_CALL
        if self.allow and (pattern := first_match(self.allow, tool.names)) is not None:
            return Rule(Effect.ALLOW, f"{self.origin}.allow", pattern)
        return default
