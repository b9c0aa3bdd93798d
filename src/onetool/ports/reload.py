"""Port of the signal by which processes learn that the configuration has changed."""

from collections.abc import Hashable
from typing import Protocol


class ReloadSignal(Protocol):
    """Signals reloads between processes."""

    def current(self) -> Hashable:
        """Return the current state of the signal."""
        ...

    @property
    def is_pending(self) -> bool:
        """Whether there is a signal that is not acknowledged. Asked before every call: at most one stat."""
        ...

    def acknowledge(self, signalled: Hashable) -> None:
        """Mark a signal as handled. Pass the value of `current` from before the reload, so none is missed."""
        ...

    def notify(self) -> None:
        """Signal a reload to all other processes. May block."""
        ...
