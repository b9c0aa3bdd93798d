"""Tools under one name each; the first to claim a name keeps it."""

from collections.abc import Iterator, Mapping, Sequence

from .errors import DuplicateTool
from .tool import Tool


class Registry:
    """Tools in the order of their registration, found by name in constant time."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._order: list[Tool] = []
        self._packs: dict[str, list[Tool]] = {}
        self.left_out: dict[str, str] = {}
        """What could not become a pack, by the name that it would have, and why."""

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises DuplicateTool when its name is taken; the first one stays.
        """
        names = set(tool.spec.names)
        if taken := names & self._tools.keys():
            raise DuplicateTool(f"Tool {min(taken)!r} is registered already; the first one stays.")
        self._tools.update(dict.fromkeys(names, tool))
        self._order.append(tool)
        self._packs.setdefault(tool.spec.pack, []).append(tool)

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, plain or qualified, or None."""
        return self._tools.get(name)

    def list(self) -> Sequence[Tool]:
        """Return all tools in the order of their registration."""
        return self._order.copy()

    def slice(self, start: int, stop: int) -> Sequence[Tool]:
        """Return the tools from `start` up to `stop`, without copying the rest."""
        return self._order[start:stop]

    def packs(self) -> Mapping[str, Sequence[Tool]]:
        """Return the tools of each pack."""
        return self._packs

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._order)
