"""Who calls, and what they may do: made by a door, narrowed on the way in, never widened."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Approve = Callable[[str, Mapping[str, Any]], Awaitable[bool]]
"""Ask whether a tool that changes things may run with these arguments."""

Progress = Callable[[float, float | None, str], None]
"""Told how much is done, of how much if known, and what is going on."""

Sent = Callable[[str], None]
"""Told of a request that a stored tool sends: as text, without secrets."""


async def refuse(tool: str, args: Mapping[str, Any]) -> bool:
    """Answer no: nobody is there to be asked."""
    return False


async def grant(tool: str, args: Mapping[str, Any]) -> bool:
    """Answer yes: the call is the person's own act."""
    return True


def ignore(done: float, total: float | None, message: str) -> None:
    """Take no notice of progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The rights of one call. What is not said is not granted, save the full list of tools."""

    door: str
    session: str = ""
    allowed: frozenset[str] | None = None
    """Names of the tools that may be called; None for all, empty for none."""
    deadline: float | None = None
    """On the monotonic clock, in seconds."""
    approve: Approve = refuse
    progress: Progress = ignore
    sent: Sent | None = None
    """None: nobody wants to know."""
    depth: int = 0

    def allows(self, name: str) -> bool:
        """Whether a tool of this canonical name may be called."""
        return self.allowed is None or name in self.allowed

    def inner(self, deadline: float) -> "Caller":
        """The caller on whose behalf a running tool calls others: same rights, no more time."""
        if self.deadline is not None:
            deadline = min(deadline, self.deadline)
        return replace(self, deadline=deadline, depth=self.depth + 1)

    def narrowed(self, allowed: frozenset[str]) -> "Caller":
        """Keep only those of `allowed` that were allowed already."""
        return replace(self, allowed=allowed if self.allowed is None else self.allowed & allowed)
