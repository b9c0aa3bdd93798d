"""Base class of sources that change what another source returns."""

from collections.abc import Collection, Hashable, Sequence

from onetool.domain.page import Page
from onetool.domain.tools.tool import Tool
from onetool.ports import SourceCapabilities, SourceStatus, ToolSource


class SourceWrapper:
    """Delegates every member of ToolSource. Subclasses override what they change."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source

    @property
    def name(self) -> str:
        """The name of the wrapped source."""
        return self._source.name

    @property
    def capabilities(self) -> SourceCapabilities:
        """The capabilities of the wrapped source."""
        return self._source.capabilities

    def status(self) -> SourceStatus:
        """Return the condition of the wrapped source."""
        return self._source.status()

    def generation(self) -> Hashable:
        """Return the generation of the wrapped source."""
        return self._source.generation()

    async def refresh(self) -> None:
        """Refresh the wrapped source."""
        await self._source.refresh()

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return a tool of the wrapped source."""
        return await self._source.find(name, version)

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return a page of the wrapped source."""
        return await self._source.page(cursor, limit)

    async def packs(self) -> Collection[str]:
        """Return the packs of the wrapped source."""
        return await self._source.packs()

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        return await self._source.pack(name)

    async def count(self) -> int:
        """Return the number of tools."""
        return await self._source.count()
