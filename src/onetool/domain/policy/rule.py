"""A rule that decides about calls, and the decision for one call."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from onetool.domain.calls.effect import Effect

GRANT = "grant to "
"""How the origins of grants begin."""


class Rule(NamedTuple):
    """One entry of the settings, or one property of a tool or a caller, that decides about calls."""

    effect: Effect
    origin: str
    """The setting, such as `approval.deny`, or the property."""
    value: str = ""
    """The pattern or the value of the setting; empty for a property."""

    @property
    def is_setting(self) -> bool:
        """Whether it is an entry of the settings: their paths have no spaces."""
        return " " not in self.origin

    @property
    def is_grant(self) -> bool:
        """Whether it is a grant to a member of a workspace."""
        return self.origin.startswith(GRANT)

    def __str__(self) -> str:
        return f"{self.origin}: {self.value}" if self.value else self.origin


class Decision(NamedTuple):
    """What happens to a call. The most restrictive rule has decided."""

    rule: Rule
    rules: tuple[Rule, ...]
    """Every rule that applies, the deciding one first."""

    @property
    def effect(self) -> Effect:
        """The effect of the deciding rule."""
        return self.rule.effect


def decide(rules: Sequence[Rule]) -> Decision:
    """Return the decision by the most restrictive rule; of equal ones, by the first."""
    ordered = tuple(sorted(dict.fromkeys(rules), key=lambda rule: -rule.effect))
    return Decision(ordered[0], ordered)


def first_match(patterns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the first pattern, such as `notes.*`, that matches one of the names."""
    for pattern in patterns:
        if any(fnmatchcase(name, pattern) for name in names):
            return pattern
    return None
