"""A collection of tools with unique names."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from onetool.domain.errors import DuplicateTool, InvalidTool
from onetool.domain.text.json_text import is_json

from .json_schema import compile_schema
from .tool import Tool, ToolSpec


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
        """Validate and add a tool.

        Raises:
            InvalidTool: Its name or description is missing, or its parameters are no schema of an object.
            DuplicateTool: One of its names is already registered. The first tool stays registered.
        """
        check_definition(tool.spec)
        self.add(tool)

    def add(self, tool: Tool) -> None:
        """Add a tool whose definition OneTool wrote, or is checked when it is called, as those of servers.

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
                rest.add(tool)
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


def check_definition(spec: ToolSpec) -> None:
    """Check the definition of a tool.

    Raises:
        InvalidTool: Its name or description is missing, or its parameters are no schema of an object.
    """
    for field, value in (("name", spec.name), ("description", spec.description)):
        if not isinstance(value, str) or not value.strip():
            raise InvalidTool(f"{field} must be a non-empty string, not {value!r}")
    check_input_schema(spec.input_schema)


def check_input_schema(parameters: Any) -> None:
    """Check the schema of arguments.

    Raises:
        InvalidTool: It is not a JSON Schema of an object.
    """
    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        raise InvalidTool("parameters must be a JSON Schema of type 'object'")
    if not is_json(parameters):
        raise InvalidTool("parameters contain a value that JSON cannot represent; quote it")
    try:
        compile_schema(parameters)
    except InvalidTool as error:
        raise InvalidTool(f"parameters are not valid JSON Schema: {error}") from None
