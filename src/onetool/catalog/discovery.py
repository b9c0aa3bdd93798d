"""Tools by what they do: an index of all of them, made once for each state of the catalog."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onetool.domain.caller import Caller
from onetool.domain.finding import LONGEST_QUERY, Entry, Finder
from onetool.domain.finding_mix import mix, text_of
from onetool.domain.tool import ToolSpec
from onetool.ports import Meanings, Nearest
from onetool.threads import Threads

from .catalog import Catalog

log = logging.getLogger(__name__)

CANDIDATES = 50
"""How many are looked at for those that a caller may call."""
FITTING, MOST_SEARCHED = 10, 20_000
"""Tools that a person's search adds, and how many there may be of them all."""
MOST_LEARNT = 20_000
"""Tools whose meanings are learnt; more would keep a processor busy for many minutes."""


@dataclass(frozen=True, slots=True, eq=False)
class _Index:
    """All tools at one moment."""

    state: int
    specs: Mapping[str, ToolSpec]
    entries: Sequence[Entry]
    finder: Finder

    def find(self, query: str, limit: int, nearest: Nearest | None) -> list[str]:
        """Return the keys that fit: by words, and by meaning too where that has been learnt."""
        by_words = [key for key, _ in self.finder.find(query, limit)]
        if nearest is None:
            return by_words
        near = nearest(query[:LONGEST_QUERY], limit)
        by_meaning = [(self.entries[place].key, similarity) for place, similarity in near]
        return mix(by_words, by_meaning, limit)


class Discovery:
    """Answers `which tools fit` for any caller."""

    def __init__(self, catalog: Catalog, threads: Threads, *, meanings: Meanings | None = None) -> None:
        self._catalog, self._threads, self._meanings = catalog, threads, meanings
        self._index = _Index(-1, {}, (), Finder(()))
        self._learnt: tuple[_Index, Nearest | None] = (self._index, None)
        self._making: asyncio.Task[None] | None = None
        self._learning: asyncio.Task[None] | None = None
        self.problem = ""
        """Why tools are found by words alone, and what would change that; empty where it is not so."""

    async def names(self, query: str) -> list[str]:
        """Return the names of tools that fit, for people who search; none where an index takes long."""
        if await self._catalog.count() > MOST_SEARCHED:
            return []
        return [spec.name for spec in await self.find(query, Caller(door="search"), FITTING)]

    async def find(self, query: str, caller: Caller, limit: int) -> list[ToolSpec]:
        """Return the tools that fit best and that this caller may call."""
        index = await self._current()
        most = max(CANDIDATES, limit) if caller.allowed is None else len(index.specs)
        nearest = self._learnt[1] if self._learnt[0] is index else None
        keys = await self._threads.run(index.find, query, most, nearest)
        self._begin_to_learn(index)
        specs = [index.specs[key] for key in keys]
        return [spec for spec in specs if self._catalog.is_visible(spec, caller)][:limit]

    async def learnt(self) -> None:
        """Return when nothing is being learnt any more."""
        if self._learning is not None:
            await asyncio.shield(self._learning)

    async def _current(self) -> _Index:
        state = await self._catalog.state()
        if state != self._index.state and self._making is not None:
            await asyncio.shield(self._making)  # begun for an earlier state, perhaps
        if state != self._index.state:
            self._making = asyncio.get_running_loop().create_task(self._make(state))
            await asyncio.shield(self._making)  # whoever cannot wait so long leaves it to the next
        return self._index

    async def _make(self, state: int) -> None:
        specs = await self._catalog.specs()
        self._index = await self._threads.run(_make_index, state, specs)

    def _begin_to_learn(self, index: _Index) -> None:
        """Learn what tools mean after an answer, never before one: nobody waits for it."""
        is_busy = self._learning is not None and not self._learning.done()
        if self._meanings is not None and self._learnt[0] is not index and not is_busy:
            self._learning = asyncio.get_running_loop().create_task(self._learn(self._meanings, index))

    async def _learn(self, meanings: Meanings, index: _Index) -> None:
        nearest, problem, level = None, "", logging.INFO
        if len(index.entries) > MOST_LEARNT:
            problem = f"{len(index.entries)} tools are more than the {MOST_LEARNT} whose meanings are learnt."
        else:
            try:
                nearest = await self._threads.run(meanings.learn, [text_of(entry) for entry in index.entries])
            except (ImportError, FileNotFoundError) as error:
                problem = str(error)
            except Exception as error:  # noqa: BLE001 - the root of a background task: words still find tools
                problem, level = f"{type(error).__name__}: {error}", logging.WARNING
        if problem and problem != self.problem:
            log.log(level, "tools are found by words alone: %s", problem)
        self.problem, self._learnt = problem, (index, nearest)


def _make_index(state: int, specs: Sequence[ToolSpec]) -> _Index:
    entries = [
        Entry(
            key=spec.qualified_name,
            name=spec.qualified_name,
            description=spec.description,
            parameters=tuple(map(str, spec.input_schema.get("properties") or ())),
            tags=spec.tags,
        )
        for spec in specs
    ]
    return _Index(state, {spec.qualified_name: spec for spec in specs}, entries, Finder(entries))
