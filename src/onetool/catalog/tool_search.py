"""Search for tools by what they do: an index over the catalog, rebuilt when the catalog changes."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onetool.domain.calls.caller import Caller
from onetool.domain.search.rank_fusion import entry_texts, fuse
from onetool.domain.search.relevance import Match, close_matches
from onetool.domain.search.tool_index import MAX_QUERY_LENGTH, SearchEntry, ToolIndex
from onetool.domain.tools.found_tools import FoundTools
from onetool.domain.tools.tool import ToolSpec
from onetool.ports import Embedder, EmbeddingIndex
from onetool.threads import Threads

from .catalog import Catalog

log = logging.getLogger(__name__)

MIN_CANDIDATES = 50
"""Minimum number of matches to rank before tools that the caller may not call are removed."""
MAX_ADDED, MAX_INDEXED = 10, 20_000
"""Maximum number of names that `find_names` returns, and the catalog size from which on it returns none."""
MAX_EMBEDDED = 20_000
"""Maximum number of tools to embed. More would occupy a CPU for many minutes."""


@dataclass(frozen=True, slots=True, eq=False)
class _SearchIndex:
    """All tools of one generation of the catalog."""

    generation: int
    specs: Mapping[str, ToolSpec]
    entries: Sequence[SearchEntry]
    tools: ToolIndex

    def find(self, query: str, limit: int, embeddings: EmbeddingIndex | None) -> list[Match]:
        """Return matches, best first: by words, and by meaning if the tools are embedded."""
        scores = dict(self.tools.find(query, limit))
        if embeddings is None:
            return [Match(key, score) for key, score in scores.items()]
        closest = embeddings(query[:MAX_QUERY_LENGTH], limit)
        similarities = {self.entries[position].key: similarity for position, similarity in closest}
        return [
            Match(key, scores.get(key, 0.0), similarities.get(key, 0.0))
            for key in fuse(scores, similarities, self.tools.ideal_score(query), limit)
        ]


class CatalogSearch:
    """Finds tools for a query, by words and by meaning."""

    def __init__(self, catalog: Catalog, threads: Threads, *, embedder: Embedder | None = None) -> None:
        self._catalog, self._threads, self._embedder = catalog, threads, embedder
        self._index = _SearchIndex(-1, {}, (), ToolIndex(()))
        self._embedded: tuple[_SearchIndex, EmbeddingIndex | None] = (self._index, None)
        self._index_task: asyncio.Task[None] | None = None
        self._embed_task: asyncio.Task[None] | None = None
        self.problem = ""
        """Why tools are found by words only and how to change that; empty if meaning is used too."""

    async def find_names(self, query: str) -> list[str]:
        """Return the names of matching tools for the bundle search. Empty if indexing would take long."""
        if await self._catalog.count() > MAX_INDEXED:
            return []
        found = await self.find(query, Caller(interface="search"), MAX_ADDED)
        return [spec.name for spec in found.specs] if found.is_close else []

    async def find(self, query: str, caller: Caller, limit: int) -> FoundTools:
        """Return the close matches among the tools that this caller may call, or the nearest few."""
        index = await self._current_index()
        max_matches = len(index.specs) if caller.is_restricted else max(MIN_CANDIDATES, limit)
        embeddings = self._embedded[1] if self._embedded[0] is index else None
        matches = await self._threads.run(index.find, query, max_matches, embeddings)
        self._start_embedding(index)
        policy = self._catalog.policy
        visible = [match for match in matches if policy.is_visible(index.specs[match.key], caller)]
        keys, is_close = close_matches(visible, index.tools.ideal_score(query))
        specs = sorted((index.specs[key] for key in keys), key=lambda spec: spec.is_deprecated)
        return FoundTools(specs[:limit], len(specs), len(matches) == max_matches, is_close)

    async def wait_until_indexed(self) -> None:
        """Wait for embedding in progress."""
        if self._embed_task is not None:
            await asyncio.shield(self._embed_task)

    async def _current_index(self) -> _SearchIndex:
        generation = await self._catalog.generation()
        if generation != self._index.generation and self._index_task is not None:
            await asyncio.shield(self._index_task)  # it may build an earlier generation
        if generation != self._index.generation:
            self._index_task = asyncio.get_running_loop().create_task(self._build(generation))
            await asyncio.shield(self._index_task)  # if this caller is cancelled, the next one uses the index
        return self._index

    async def _build(self, generation: int) -> None:
        specs = [spec for spec in await self._catalog.specs() if not spec.app_only]
        self._index = await self._threads.run(_build_index, generation, specs)

    def _start_embedding(self, index: _SearchIndex) -> None:
        """Embed the tools in the background, after a search: no search waits for it."""
        is_busy = self._embed_task is not None and not self._embed_task.done()
        if self._embedder is not None and self._embedded[0] is not index and not is_busy:
            self._embed_task = asyncio.get_running_loop().create_task(self._embed(self._embedder, index))

    async def _embed(self, embedder: Embedder, index: _SearchIndex) -> None:
        embeddings, problem, level = None, "", logging.INFO
        if len(index.entries) > MAX_EMBEDDED:
            problem = f"{len(index.entries)} tools exceed the limit of {MAX_EMBEDDED} for semantic search."
        else:
            try:
                embeddings = await self._threads.run(
                    embedder.index, [entry_texts(entry) for entry in index.entries]
                )
            except (ImportError, FileNotFoundError) as error:
                problem = str(error)
            except Exception as error:  # noqa: BLE001 - root of a background task: search by words still works
                problem, level = f"{type(error).__name__}: {error}", logging.WARNING
        if problem and problem != self.problem:
            log.log(level, "semantic search unavailable; tools are found by words only: %s", problem)
        self.problem, self._embedded = problem, (index, embeddings)


def _build_index(generation: int, specs: Sequence[ToolSpec]) -> _SearchIndex:
    entries = [
        SearchEntry(
            key=spec.qualified_name,
            name=spec.qualified_name,
            description=spec.description,
            parameters=tuple(map(str, spec.input_schema.get("properties") or ())),
            tags=spec.tags,
        )
        for spec in specs
    ]
    return _SearchIndex(
        generation, {spec.qualified_name: spec for spec in specs}, entries, ToolIndex(entries)
    )
