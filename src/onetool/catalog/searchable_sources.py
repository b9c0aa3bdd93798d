"""The sources with so many tools that they answer queries themselves."""

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from onetool.domain.search.terms import (
    FUZZY_WEIGHT,
    NO_TOOLS,
    IndexedTool,
    TermStatistics,
    query_terms,
    similar_terms,
    unknown_terms,
)
from onetool.domain.search.tool_index import CANDIDATE_POOL_SIZE, ToolIndex, selective_terms
from onetool.domain.tools.tool import Tool
from onetool.ports import SearchableSource

from .source_chain import SourceChain


class WordQuery(NamedTuple):
    """The terms of a query with their weights, and how common they are."""

    terms: Mapping[str, float]
    statistics: TermStatistics
    """Those of all tools."""
    stored: TermStatistics
    """Those of the searchable sources."""


class SearchableSources:
    """Finds tools in the searchable sources of a chain. One that fails counts as empty."""

    def __init__(self, chain: SourceChain) -> None:
        self._chain = chain

    async def parse(self, query: str, in_memory: ToolIndex) -> WordQuery:
        """Return the terms of a query, with what misspelled words may stand for.

        in_memory: the tools of all other sources.
        """
        terms = query_terms(query)
        parsed = await self._count(terms, in_memory)
        unknown = unknown_terms(terms, parsed.statistics.counts.get) if parsed.stored.tools else []
        if not unknown:
            return parsed
        stored = [
            term
            for _, source in self._chain.searchable
            for term in await self._similar_terms(source, unknown)
        ]
        for word in unknown:
            similar = similar_terms(word, [*in_memory.similar_terms(word), *stored])
            terms = dict.fromkeys(similar, FUZZY_WEIGHT) | terms
        return await self._count(terms, in_memory)

    async def candidates(
        self, query: WordQuery, packs: Collection[str] | None = None, *, max_count: int = sys.maxsize
    ) -> list[IndexedTool]:
        """Return the best matches, without tools whose names belong to another source.

        packs: only tools of these packs.
        max_count: number of tools above which a term is too common to find one.
        """
        limit, terms = CANDIDATE_POOL_SIZE, selective_terms(query.terms, query.stored, max_count)
        empty: Sequence[IndexedTool] = ()
        if not terms:
            return []
        return [
            tool
            for index, source in self._chain.searchable
            for tool in await self._chain.query(
                source, lambda source: source.candidates(terms, packs, limit), empty
            )
            if not await self._chain.is_hidden(index, tool.key)
        ]

    async def named(self, names: Collection[str]) -> list[Tool]:
        """Return the tools with these names, without those whose names belong to another source."""
        empty: Sequence[Tool] = ()
        return [
            tool
            for index, source in self._chain.searchable
            for tool in await self._chain.query(source, lambda source: source.named(names), empty)
            if not await self._chain.is_hidden(index, tool.spec.name)
        ]

    async def pack_sizes(self) -> dict[str, int]:
        """Return the number of enabled tools in each pack that has any."""
        sizes = dict[str, int]()
        empty: Mapping[str, int] = {}
        for _, source in self._chain.searchable:
            found = await self._chain.query(source, lambda source: source.pack_sizes(), empty)
            for pack, size in found.items():
                sizes[pack] = sizes.get(pack, 0) + size
        return sizes

    async def _count(self, terms: Mapping[str, float], in_memory: ToolIndex) -> WordQuery:
        stored = NO_TOOLS
        for _, source in self._chain.searchable:
            stored = stored.plus(
                await self._chain.query(source, lambda source: source.term_statistics(terms), NO_TOOLS)
            )
        return WordQuery(terms, in_memory.statistics(terms).plus(stored), stored)

    async def _similar_terms(self, source: SearchableSource, terms: Sequence[str]) -> Sequence[str]:
        empty: Sequence[str] = ()
        return await self._chain.query(source, lambda source: source.similar_terms(terms), empty)
