"""A source that holds all its tools in memory and replaces them as a whole."""

from collections.abc import Collection, Hashable, Sequence
from typing import Protocol

from onetool.domain.page import Page
from onetool.domain.tools.registry import Registry
from onetool.domain.tools.tool import CURRENT, Tool
from onetool.ports import LOCAL, SourceCapabilities, SourceStatus


class SnapshotReader(Protocol):
    """Reads all tools of a source at once."""

    @property
    def name(self) -> str:
        """The name of the source in logs and in health."""
        ...

    def generation(self) -> Hashable:
        """Return a cheap value that changes when `read` would return other tools."""
        ...

    async def read(self) -> Registry:
        """Return all current tools."""
        ...


class SnapshotSource:
    """A ToolSource over the registry that a SnapshotReader returns."""

    def __init__(self, reader: SnapshotReader, capabilities: SourceCapabilities = LOCAL) -> None:
        self._reader = reader
        self.capabilities = capabilities
        self._registry = Registry()
        self.name = reader.name
        self.generation = reader.generation

    def status(self) -> SourceStatus:
        """Return which packs and tools were skipped."""
        return SourceStatus(skipped=self._registry.skipped, skipped_tools=self._registry.skipped_tools)

    async def refresh(self) -> None:
        """Read all tools again. Tools that were already returned stay usable."""
        self._registry = await self._reader.read()

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool with this name; each has one version."""
        return self._registry.get(name) if version in (None, CURRENT) else None

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return tools in registration order."""
        start = int(cursor or 0)
        end = start + limit
        return Page(self._registry.slice(start, end), str(end) if end < len(self._registry) else None)

    async def packs(self) -> Collection[str]:
        """Return the names of all packs."""
        return self._registry.packs()

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        return self._registry.packs().get(name, ())

    async def count(self) -> int:
        """Return the number of tools."""
        return len(self._registry)


class StaticReader:
    """Tools that never change during the life of the process."""

    def __init__(self, name: str, registry: Registry) -> None:
        self.name = name
        self._registry = registry

    def generation(self) -> Hashable:
        """Return a constant."""
        return 0

    async def read(self) -> Registry:
        """Return the tools."""
        return self._registry
