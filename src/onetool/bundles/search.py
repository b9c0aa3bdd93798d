"""The search over all bundles: packs of other sources, and stored tools."""

from collections.abc import Awaitable, Callable, Sequence

from onetool.domain.bundles.bundle import BundleFilter, StoredTool
from onetool.domain.bundles.ranking import (
    SearchHit,
    SearchPosition,
    SearchQuery,
    Tier,
    find_virtual_hits,
    sort_hits,
)
from onetool.domain.page import Page
from onetool.ports import BundleStore
from onetool.threads import Threads

from .policy import BundlePolicy
from .virtual import VirtualBundles

ENOUGH_MATCHES = 10
"""Number of matches by words from which on a search skips matches by meaning."""


class BundleSearch:
    """Merges the matches of virtual and stored tools into pages."""

    def __init__(
        self,
        store: BundleStore,
        virtual: VirtualBundles,
        policy: BundlePolicy,
        *,
        threads: Threads,
        is_usable: Callable[[StoredTool, BundleFilter], Awaitable[bool]],
    ) -> None:
        self._store, self._virtual, self._policy, self._threads = store, virtual, policy, threads
        self._is_usable = is_usable

    async def find(
        self, query: str, filter: BundleFilter, cursor: str | None, limit: int
    ) -> Page[StoredTool]:
        """Return tools that match a query, best first.

        If only few tools match by their words, tools that match by their meaning follow.
        """
        parsed = SearchQuery.parse(query)
        after = SearchPosition.from_cursor(cursor) if cursor else None
        hits = await self._hits(parsed, filter, after, limit + 1)
        if len(hits) <= limit:
            first = hits if after is None else await self._hits(parsed, filter, None, ENOUGH_MATCHES)
            hits += await self._hits_by_meaning(parsed, filter, after, first)
        position = hits[limit - 1].position if len(hits) > limit else None
        return Page([hit.stored for hit in hits[:limit]], position and position.to_cursor())

    async def _hits(
        self, query: SearchQuery, filter: BundleFilter, after: SearchPosition | None, limit: int
    ) -> list[SearchHit]:
        """Return up to `limit` matches by words, of virtual and of stored tools."""
        virtual = [tool for tool in await self._virtual.tools() if filter.matches(tool)]
        found = await self._threads.run(find_virtual_hits, query, virtual)
        hits = [hit for hit in found if after is None or hit.position.is_after(after)]
        is_last, usable = False, 0
        while not is_last and usable < limit:
            stored = await self._store.search(query, filter, after, limit)
            is_last, after = len(stored) < limit, stored[-1].position if stored else after
            kept = [hit for hit in stored if await self._is_usable(hit.stored, filter)]
            usable += len(kept)
            hits += kept
        return sort_hits(hits)[:limit]

    async def _hits_by_meaning(
        self,
        query: SearchQuery,
        filter: BundleFilter,
        after: SearchPosition | None,
        by_words: Sequence[SearchHit],
    ) -> list[SearchHit]:
        """Return tools whose descriptions may use other words than the query, unless many match by words.

        by_words: the first matches by words.
        """
        if len(by_words) >= ENOUGH_MATCHES:
            return []
        ids = {hit.stored.tool.id for hit in by_words}
        virtual = {tool.name: tool for tool in await self._virtual.tools() if filter.matches(tool)}
        hits: list[SearchHit] = []
        for name in await self._policy.find_names(query.text):
            versions = [virtual[name]] if name in virtual else await self._store.find(name)
            hits += [SearchHit(Tier.MEANING, tool) for tool in versions[:1] if tool.tool.id not in ids]
        if after is None or after.tier < Tier.MEANING:
            return hits
        seen = [hit.stored.tool.id for hit in hits]
        return hits[seen.index(after.id) + 1 :] if after.id in seen else []
