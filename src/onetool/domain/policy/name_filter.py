"""A choice among names: those that a list includes, without those that another list excludes."""

from collections.abc import Sequence
from typing import NamedTuple

from onetool.domain.calls.effect import Effect

from .rule import Rule, first_match


class NameFilter(NamedTuple):
    """Name patterns of the tools of a server to use, and of those to hide."""

    include: Sequence[str] | None = None
    """None: all names."""
    exclude: Sequence[str] = ()
    """Takes precedence over `include`."""

    def hiding_rule(self, name: str, origin: str) -> Rule | None:
        """Return the rule that hides a name; None if it is included.

        origin: the path of the settings, such as `servers.github`.
        """
        if (pattern := first_match(self.exclude, (name,))) is not None:
            return Rule(Effect.HIDDEN, f"{origin}.exclude", pattern)
        if self.include is not None and first_match(self.include, (name,)) is None:
            return Rule(Effect.HIDDEN, f"{origin}.include", ", ".join(self.include) or "[]")
        return None
