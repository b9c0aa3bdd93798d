"""Tools by what they do: an index of all of them, made once for each state of the catalog."""

from collections.abc import Sequence

from onetool.domain.caller import Caller
from onetool.domain.finding import Entry, Finder
from onetool.domain.tool import ToolSpec
from onetool.threads import Threads

from .catalog import Catalog

CANDIDATES = 50
"""How many are looked at for those that a caller may call."""


class Discovery:
    """Answers `which tools fit` for any caller."""

    def __init__(self, catalog: Catalog, threads: Threads) -> None:
        self._catalog, self._threads = catalog, threads
        self._state = -1
        self._specs: dict[str, ToolSpec] = {}
        self._finder = Finder(())

    async def find(self, query: str, caller: Caller, limit: int) -> list[ToolSpec]:
        """Return the tools that fit best and that this caller may call."""
        specs, finder = await self._current()
        most = max(CANDIDATES, limit) if caller.allowed is None else len(specs)
        found = await self._threads.run(finder.find, query, most)
        visible = [specs[key] for key, _ in found if self._catalog.is_visible(specs[key], caller)]
        return visible[:limit]

    async def _current(self) -> tuple[dict[str, ToolSpec], Finder]:
        state = await self._catalog.state()
        if state != self._state:
            specs = await self._catalog.specs()
            self._specs = {spec.qualified_name: spec for spec in specs}
            self._finder = await self._threads.run(_index, specs)
            self._state = state
        return self._specs, self._finder


def _index(specs: Sequence[ToolSpec]) -> Finder:
    return Finder(
        Entry(
            key=spec.qualified_name,
            name=spec.qualified_name,
            description=spec.description,
            parameters=tuple(map(str, spec.input_schema.get("properties") or ())),
            tags=spec.tags,
        )
        for spec in specs
    )
