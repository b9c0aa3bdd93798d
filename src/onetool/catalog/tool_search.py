"""Search for tools by what they do, by words and by meaning."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onetool.domain.calls.caller import Caller
from onetool.domain.search.rank_fusion import entry_texts, fuse
from onetool.domain.search.relevance import Match, close_matches
from onetool.domain.search.terms import MAX_QUERY_LENGTH, IndexedTool, SearchEntry
from onetool.domain.search.tool_index import CANDIDATE_POOL_SIZE, ToolIndex, ideal_score, rank
from onetool.domain.tools.found_tools import FoundTools
from onetool.domain.tools.tool import ToolSpec
from onetool.ports import Embedder, EmbeddingIndex
from onetool.threads import Threads

from .catalog import Catalog
from .searchable_sources import WordQuery

log = logging.getLogger(__name__)

MIN_CANDIDATES = 50
"""Minimum number of matches to rank before tools that the caller may not call are removed."""
MAX_ADDED = 10
"""Maximum number of names that `find_names` returns."""
MAX_EMBEDDED = 20_000
"""Maximum number of tools to embed. More would occupy a CPU for many minutes."""


@dataclass(frozen=True, slots=True, eq=False)
class _MemoryIndex:
    """The tools of the sources without search, in one generation of them."""

    generation: int
    specs: Mapping[str, ToolSpec]
    tools: ToolIndex


@dataclass(frozen=True, slots=True, eq=False)
class _Embeddings:
    """The embeddings of all tools in one generation of the catalog; no `index` if there are none."""

    generation: int
    keys: Sequence[str] = ()
    index: EmbeddingIndex | None = None


class CatalogSearch:
    """Finds tools for a query. Tools in memory are indexed again when they change; others by their source."""

    def __init__(self, catalog: Catalog, threads: Threads, *, embedder: Embedder | None = None) -> None:
        self._catalog, self._threads, self._embedder = catalog, threads, embedder
        self._index = _MemoryIndex(-1, {}, ToolIndex(()))
        self._embeddings = _Embeddings(-1)
        self._index_task: asyncio.Task[None] | None = None
        self._embed_task: asyncio.Task[None] | None = None
        self.problem = ""
        """Why tools are found by words only and how to change that; empty if meaning is used too."""

    async def find_names(self, query: str) -> list[str]:
        """Return the names of matching tools for the bundle search."""
        found = await self.find(query, Caller(interface="search"), MAX_ADDED)
        return [spec.name for spec in found.specs] if found.is_close else []

    async def find(self, query: str, caller: Caller, limit: int) -> FoundTools:
        """Return the close matches among the tools that this caller may call, or the nearest few."""
        index, generation = await self._current_index(), await self._catalog.generation()
        max_matches = max(MIN_CANDIDATES, limit)
        if self._catalog.policy.is_restricted(caller):
            max_matches = len(index.specs) + CANDIDATE_POOL_SIZE
        scores, ideal = await self._find_words(index, query, caller, max_matches)
        similarities = await self._find_meaning(generation, query, max_matches)
        self._start_embedding(generation)
        specs = await self._load(index, scores.keys() | similarities.keys())
        keys = fuse(scores, similarities, ideal, max_matches) if similarities else list(scores)
        matches = [Match(key, scores.get(key, 0.0), similarities.get(key, 0.0)) for key in keys]
        policy = self._catalog.policy
        visible = [
            match for match in matches if match.key in specs and policy.is_visible(specs[match.key], caller)
        ]
        close, is_close = close_matches(visible, ideal)
        shown = sorted((specs[key] for key in close), key=lambda spec: spec.is_deprecated)
        return FoundTools(shown[:limit], len(shown), len(matches) == max_matches, is_close)

    async def wait_until_indexed(self) -> None:
        """Wait for embedding in progress."""
        if self._embed_task is not None:
            await asyncio.shield(self._embed_task)

    async def _find_words(
        self, index: _MemoryIndex, query: str, caller: Caller, limit: int
    ) -> tuple[dict[str, float], float]:
        """Return the scores of the best matches by words, best first, and the ideal score."""
        searchable = self._catalog.searchable
        parsed = await searchable.parse(query, index.tools)
        ideal = ideal_score(parsed.terms, parsed.statistics)
        if not parsed.stored.tools:
            return dict(await self._threads.run(index.tools.find, query, limit)), ideal
        is_restricted = self._catalog.policy.is_restricted(caller)
        packs = await self._catalog.packs(caller) if is_restricted else None
        stored = await searchable.candidates(parsed, packs)
        return dict(await self._threads.run(_rank_all, index.tools, stored, parsed, limit)), ideal

    async def _find_meaning(self, generation: int, query: str, limit: int) -> dict[str, float]:
        """Return the similarities of the closest matches by meaning; empty until the tools are embedded."""
        embeddings = self._embeddings
        if embeddings.index is None or embeddings.generation != generation:
            return {}
        closest = await self._threads.run(embeddings.index, query[:MAX_QUERY_LENGTH], limit)
        return {embeddings.keys[position]: similarity for position, similarity in closest}

    async def _load(self, index: _MemoryIndex, keys: set[str]) -> dict[str, ToolSpec]:
        """Return the specs of the tools that still exist."""
        specs = {key: index.specs[key] for key in keys if key in index.specs}
        stored = keys - specs.keys()
        tools = await self._catalog.searchable.named(stored) if stored else []
        return specs | {tool.spec.name: tool.spec for tool in tools}

    async def _current_index(self) -> _MemoryIndex:
        generation = await self._catalog.memory_generation()
        if generation != self._index.generation and self._index_task is not None:
            await asyncio.shield(self._index_task)  # it may build an earlier generation
        if generation != self._index.generation:
            self._index_task = asyncio.get_running_loop().create_task(self._build(generation))
            await asyncio.shield(self._index_task)  # if this caller is cancelled, the next one uses the index
        return self._index

    async def _build(self, generation: int) -> None:
        specs = [spec for spec in await self._catalog.specs(in_memory=True) if not spec.app_only]
        self._index = await self._threads.run(_build_index, generation, specs)

    def _start_embedding(self, generation: int) -> None:
        """Embed the tools in the background, after a search: no search waits for it."""
        is_busy = self._embed_task is not None and not self._embed_task.done()
        if self._embedder is not None and self._embeddings.generation != generation and not is_busy:
            self._embed_task = asyncio.get_running_loop().create_task(self._embed(self._embedder, generation))

    async def _embed(self, embedder: Embedder, generation: int) -> None:
        embeddings, problem, level = _Embeddings(generation), "", logging.INFO
        try:
            count = await self._catalog.count()
            if count > MAX_EMBEDDED:
                problem = f"{count} tools exceed the limit of {MAX_EMBEDDED} for semantic search."
            else:
                specs = [spec for spec in await self._catalog.specs() if not spec.app_only]
                index = await self._threads.run(_embed_specs, embedder, specs)
                embeddings = _Embeddings(generation, [spec.qualified_name for spec in specs], index)
        except (ImportError, FileNotFoundError) as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - root of a background task: search by words still works
            problem, level = f"{type(error).__name__}: {error}", logging.WARNING
        if problem and problem != self.problem:
            log.log(level, "semantic search unavailable; tools are found by words only: %s", problem)
        self.problem, self._embeddings = problem, embeddings


def _rank_all(
    in_memory: ToolIndex, stored: Sequence[IndexedTool], query: WordQuery, limit: int
) -> list[tuple[str, float]]:
    candidates = in_memory.candidates(query.terms, max(CANDIDATE_POOL_SIZE, limit))
    return rank([*candidates, *stored], query.terms, query.statistics, limit)


def _build_index(generation: int, specs: Sequence[ToolSpec]) -> _MemoryIndex:
    by_name = {spec.qualified_name: spec for spec in specs}
    return _MemoryIndex(generation, by_name, ToolIndex(map(_entry, specs)))


def _embed_specs(embedder: Embedder, specs: Sequence[ToolSpec]) -> EmbeddingIndex:
    return embedder.index([entry_texts(_entry(spec)) for spec in specs])


def _entry(spec: ToolSpec) -> SearchEntry:
    return SearchEntry(
        key=spec.qualified_name,
        name=spec.qualified_name,
        description=spec.description,
        parameters=tuple(map(str, spec.input_schema.get("properties") or ())),
        tags=spec.tags,
    )
