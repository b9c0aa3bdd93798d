"""A secret and where it may be sent."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret value and the hosts it may be sent to; None means any host."""

    name: str
    value: str = field(repr=False)
    hosts: tuple[str, ...] | None = None
