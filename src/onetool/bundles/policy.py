"""Rules for stored tools that come from the settings and the catalog."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BundlePolicy:
    """What the operator allows, and lookups in the catalog."""

    allowed_hosts: Sequence[str] = ()
    max_tools: int = 100_000
    secrets: Collection[str] = ()
    """The names of the configured secrets."""
    has_function: Callable[[str], Awaitable[bool]]
    """Returns whether a function with this name is registered."""
    find_names: Callable[[str], Awaitable[Sequence[str]]]
    """Returns the names of tools that match a query by meaning, from the index that models use too."""
