"""A collection of tools with unique names."""

from collections.abc import Iterator, Mapping, Sequence, Set

from onetool.domain.errors import DuplicateTool

from .tool import Tool


class Registry:
    """Tools in order of registration, with lookup by name in constant time."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._order: list[Tool] = []
        self._packs: dict[str, list[Tool]] = {}
        self.skipped: dict[str, str] = {}
        """Packs that could not be loaded, with the reason."""
        self.skipped_tools: list[str] = []
        """Tools that could not be loaded: where each is defined, and the reason."""

    def register(self, tool: Tool) -> None:
        """Add a tool.

        Raises:
            DuplicateTool: One of its names is already registered. The first tool stays registered.
        """
        names = set(tool.spec.names)
        if taken := names & self._tools.keys():
            raise DuplicateTool(f"Tool {min(taken)!r} is already registered. The first one is used.")
        self._tools.update(dict.fromkeys(names, tool))
        self._order.append(tool)
        self._packs.setdefault(tool.spec.pack, []).append(tool)

    def without(self, packs: Set[str]) -> "Registry":
        """Return a registry without these packs; itself, if it has none of them."""
        if not packs & self._packs.keys():
            return self
        rest = Registry()
        for tool in self._order:
            if tool.spec.pack not in packs:
                rest.register(tool)
        rest.skipped = {pack: reason for pack, reason in self.skipped.items() if pack not in packs}
        rest.skipped_tools = self.skipped_tools
        return rest

    def get(self, name: str) -> Tool | None:
        """Return the tool with this plain or qualified name, or None."""
        return self._tools.get(name)

    def list(self) -> Sequence[Tool]:
        """Return all tools in order of registration."""
        return self._order.copy()

    def slice(self, start: int, stop: int) -> Sequence[Tool]:
        """Return the tools from `start` up to `stop`, without copying the rest."""
        return self._order[start:stop]

    def packs(self) -> Mapping[str, Sequence[Tool]]:
        """Return the tools by pack name."""
        return self._packs

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._order)
