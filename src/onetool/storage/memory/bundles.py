"""Stored bundles in memory."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import replace

from onetool.domain.bundles.bundle import (
    AlreadyExists,
    Bundle,
    BundleFilter,
    StoredTool,
    ToolKey,
    ToolVersion,
    active_version,
)
from onetool.domain.bundles.identifiers import python_name
from onetool.domain.bundles.names import function_name, pack_names
from onetool.domain.bundles.ranking import SearchHit, SearchPosition, SearchQuery, find_hits, search_entry
from onetool.domain.page import Page
from onetool.domain.search.terms import IndexedTool, TermStatistics
from onetool.domain.search.tool_index import ToolIndex


class MemoryBundles:
    """Bundles and tools for the lifetime of the process, for tests and temporary runtimes."""

    def __init__(self) -> None:
        self.problems: Sequence[str] = ()
        self._bundles: dict[str, Bundle] = {}
        self._tools: dict[ToolKey, ToolVersion] = {}
        self._generation = 0

    def generation(self) -> Hashable:
        """Return a value that changes with every write."""
        return self._generation

    async def change_bundle(self, bundle_id: str, change: Callable[[Bundle | None], Bundle]) -> Bundle:
        """Create or replace a bundle with what `change` returns."""
        bundle = self._bundles[bundle_id] = change(self._bundles.get(bundle_id))
        self._generation += 1
        return bundle

    async def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle. Includes deleted ones."""
        return self._bundles.get(bundle_id)

    async def bundles(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return a page of bundles, starting at an opaque cursor."""
        bundles = [
            bundle
            for id, bundle in sorted(self._bundles.items())
            if id > (cursor or "") and filter.matches_bundle(bundle)
        ]
        return Page(bundles[:limit], bundles[limit - 1].id if len(bundles) > limit else None)

    async def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> StoredTool:
        """Store a new version, unless `check` raises for its bundle."""
        check(self._bundles.get(tool.bundle_id))
        if tool.key in self._tools:
            raise AlreadyExists
        self._check_available(tool)
        return self._put(tool)

    async def import_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        """Store a bundle with all its tools, or nothing."""
        old = self._bundles.get(bundle.id)
        if old is not None and not old.soft_deleted_at:
            raise AlreadyExists
        for tool in tools:
            self._check_available(tool)
        self._bundles[bundle.id] = bundle
        self._generation += 1
        for tool in tools:
            self._put(tool)

    async def change_tool(
        self, key: ToolKey, change: Callable[[Bundle | None, ToolVersion | None], ToolVersion]
    ) -> StoredTool:
        """Replace a version with what `change` returns."""
        return self._put(change(self._bundles.get(key[0]), self._tools.get(key)))

    async def delete_tool(self, key: ToolKey) -> bool:
        """Delete a version permanently. Return whether it existed."""
        self._generation += 1
        return self._tools.pop(key, None) is not None

    async def tool(self, key: ToolKey) -> StoredTool | None:
        """Return a version. Includes versions of deleted bundles."""
        tool = self._tools.get(key)
        return self._stored_tool(tool) if tool else None

    async def find(self, name: str) -> Sequence[StoredTool]:
        """Return all versions of the tool with this qualified name, newest first."""
        versions = [stored for stored in self._all() if stored.name == name]
        return sorted(versions, key=lambda stored: (stored.tool.created_at, stored.tool.id), reverse=True)

    async def tools(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[StoredTool]:
        """Return a page of versions, starting at an opaque cursor."""
        tools = sorted(
            (
                stored
                for stored in self._all()
                if stored.tool.id > (cursor or "") and self._matches(stored, filter)
            ),
            key=lambda stored: stored.tool.id,
        )
        return Page(tools[:limit], tools[limit - 1].tool.id if len(tools) > limit else None)

    async def packs(self) -> Sequence[str]:
        """Return the pack names of the bundles that contain a tool."""
        return list({stored.name.partition(".")[0] for stored in self._all()})

    async def pack(self, name: str) -> Sequence[StoredTool]:
        """Return the active versions of a bundle by its pack name."""
        return [
            stored
            for stored in self._all()
            if stored.name.partition(".")[0] == name and self._is_active(stored.tool)
        ]

    async def named(self, names: Collection[str]) -> Sequence[StoredTool]:
        """Return the active versions of tools by their names in code."""
        return [stored for stored in self._all() if stored.name in names and self._is_active(stored.tool)]

    async def pack_sizes(self) -> Mapping[str, int]:
        """Return the number of enabled tools in each pack."""
        return Counter(stored.name.partition(".")[0] for stored in self._enabled())

    async def term_statistics(self, terms: Collection[str]) -> TermStatistics:
        """Return how common terms are."""
        return self._term_index(None).statistics(terms)

    async def similar_terms(self, terms: Sequence[str]) -> Sequence[str]:
        """Return the terms of tools that misspelled ones may stand for."""
        index = self._term_index(None)
        return [similar for term in terms for similar in index.similar_terms(term)]

    async def candidates(
        self, terms: Sequence[str], packs: Collection[str] | None, limit: int
    ) -> Sequence[IndexedTool]:
        """Return the enabled tools that match terms best."""
        return self._term_index(packs).candidates(dict.fromkeys(terms, 1.0), limit)

    async def search(
        self, query: SearchQuery, filter: BundleFilter, after: SearchPosition | None, limit: int
    ) -> Sequence[SearchHit]:
        """Return the best matches, or those after a position."""
        tools = [stored for stored in self._all() if self._matches(stored, filter)]
        similar = query.similar_slugs(stored.tool.slug for stored in tools)
        hits = find_hits(query, tools, similar)
        return [hit for hit in hits if after is None or hit.position.is_after(after)][:limit]

    async def count(self) -> int:
        """Return the number of tool versions."""
        return len(self._tools)

    async def reap(self, before: str) -> Sequence[str]:
        """Delete the empty bundles that were soft-deleted before `before`. Return their ids."""
        used = {key[0] for key in self._tools}
        reaped = [
            bundle.id
            for bundle in self._bundles.values()
            if bundle.soft_deleted_at and bundle.soft_deleted_at < before and bundle.id not in used
        ]
        for bundle_id in reaped:
            del self._bundles[bundle_id]
        return reaped

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""

    def _check_available(self, tool: ToolVersion) -> None:
        for other in self._tools.values():
            if (other.id == tool.id) != (other.key == tool.key):
                raise AlreadyExists(f"{tool.slug!r} version {tool.version!r} or its id already exists.")

    def _put(self, tool: ToolVersion) -> StoredTool:
        self._tools[tool.key] = tool
        self._generation += 1
        return self._stored_tool(tool)

    def _all(self) -> list[StoredTool]:
        tools = [self._stored_tool(tool) for tool in list(self._tools.values())]
        return [stored for stored in tools if not stored.bundle.soft_deleted_at]

    def _enabled(self) -> list[StoredTool]:
        return [stored for stored in self._all() if self._matches(stored, BundleFilter(active_only=True))]

    def _term_index(self, packs: Collection[str] | None) -> ToolIndex:
        return ToolIndex(
            replace(
                search_entry(stored.tool), key=stored.name, name=f"{stored.bundle.slug} {stored.tool.slug}"
            )
            for stored in self._enabled()
            if packs is None or stored.name.partition(".")[0] in packs
        )

    def _matches(self, stored: StoredTool, filter: BundleFilter) -> bool:
        return filter.matches(stored) and (not filter.active_only or self._is_active(stored.tool))

    def _is_active(self, tool: ToolVersion) -> bool:
        versions = [other for other in self._tools.values() if other.key[:2] == tool.key[:2]]
        return active_version(versions) == tool

    def _stored_tool(self, tool: ToolVersion) -> StoredTool:
        bundle = self._bundles[tool.bundle_id]
        base = python_name(bundle.slug)
        namesakes = [
            other
            for other in self._bundles.values()
            if python_name(other.slug) == base and not other.soft_deleted_at
        ]
        pack = pack_names(namesakes).get(bundle.id, base)
        same_name = [
            other
            for other in self._tools.values()
            if other.bundle_id == bundle.id and python_name(other.slug) == python_name(tool.slug)
        ]
        oldest = min(same_name, key=lambda other: (other.created_at, other.id))
        return StoredTool(tool, bundle, f"{pack}.{function_name(tool.slug, oldest.slug)}")
