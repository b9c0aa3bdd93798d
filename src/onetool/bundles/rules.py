"""What is allowed of stored tools, and whom to ask."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the operator and the rest of the house say of stored tools."""

    allowed_hosts: Sequence[str] = ()
    max_tools: int = 100_000
    secrets: Collection[str] = ()
    """Names of the secrets that there are."""
    has_function: Callable[[str], Awaitable[bool]]
    """Whether a function of this name is registered."""
    fitting: Callable[[str], Awaitable[Sequence[str]]]
    """Names of tools that fit a question, in words of one's own: the index that models ask too."""
