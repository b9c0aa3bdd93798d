"""Slots for programs, by level: a program that runs inside of another one uses slots of the next level."""

from .admission import MAX_DEPTH
from .slots import Slots


class RunSlots:
    """The same number of slots for each level.

    A program holds a slot of its level and waits only for programs of higher levels, of which the highest
    wait for none. So programs that call programs never wait for each other in a circle, and the number of
    programs that run at once is bounded. They outlive reloads.
    """

    def __init__(self, size: int) -> None:
        self._levels = [Slots(size) for _ in range(MAX_DEPTH + 2)]

    @property
    def size(self) -> int:
        """The number of programs that run at once, of each level."""
        return self._levels[0].size

    def resize(self, size: int) -> None:
        """Change the number of slots of each level."""
        for slots in self._levels:
            slots.resize(size)

    def level(self, number: int) -> Slots | None:
        """Return the slots of a level; None if programs are nested too deeply. Only `run` uses level 0."""
        return self._levels[number] if number < len(self._levels) else None
