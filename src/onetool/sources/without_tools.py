"""Base class of sources that have no tools, but decide about those of others."""

from collections.abc import Collection, Sequence

from onetool.domain.page import Page
from onetool.domain.tools.tool import Tool
from onetool.ports import LOCAL, READY, SourceStatus


class SourceWithoutTools:
    """Comes before the other sources, so that one refresh serves all of them."""

    capabilities = LOCAL

    def status(self) -> SourceStatus:
        """Return READY: there are no tools."""
        return READY

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return None: there are no tools."""
        return None

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return an empty page."""
        return Page(())

    async def packs(self) -> Collection[str]:
        """Return no packs."""
        return ()

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return no tools."""
        return ()

    async def count(self) -> int:
        """Return 0."""
        return 0
