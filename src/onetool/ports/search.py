"""Port of the search for tools among very many."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from onetool.domain.search.terms import IndexedTool, TermStatistics


class ToolSearch(Protocol):
    """Finds tools without reading all of them. No method blocks the event loop."""

    async def pack_sizes(self) -> Mapping[str, int]:
        """Return the number of enabled tools in each pack that has any."""
        ...

    async def term_statistics(self, terms: Collection[str]) -> TermStatistics:
        """Return how common terms are. Older versions of tools may count too."""
        ...

    async def similar_terms(self, terms: Sequence[str]) -> Sequence[str]:
        """Return the terms of tools that misspelled ones may stand for."""
        ...

    async def candidates(
        self, terms: Sequence[str], packs: Collection[str] | None, limit: int
    ) -> Sequence[IndexedTool]:
        """Return up to `limit` enabled tools that contain any of these terms, the best matches first.

        packs: only tools of these packs.
        """
        ...
