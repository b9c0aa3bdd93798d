"""What may happen to a call."""

from enum import IntEnum


class Effect(IntEnum):
    """What a rule does with a call. A larger value is more restrictive."""

    ALLOW = 0
    ASK = 1
    """The call runs after a person has approved it."""
    DENY = 2
    """The tool is listed, but every call is refused."""
    HIDDEN = 3
    """For the caller, the tool does not exist."""

    def __str__(self) -> str:
        return self.name.lower()
