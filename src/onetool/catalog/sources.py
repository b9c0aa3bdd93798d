"""All sources asked as one, in their order; one that fails is empty for a while, and harms no other."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from typing import TypeVar

from onetool.domain.paging import Page
from onetool.domain.tool import Tool
from onetool.ports import ToolSource

log = logging.getLogger(__name__)
T = TypeVar("T")

RETRY_AFTER = 5.0
"""Seconds after which a source that failed is asked again, if it does not move before."""
FAILED, UNREAD = object(), object()


class Sources:
    """The first source that has a name keeps it."""

    def __init__(self, sources: Sequence[ToolSource], clock: Callable[[], float] = time.monotonic) -> None:
        self.failures: dict[str, str] = {}
        """Sources that cannot be asked at present, and why."""
        self.generation = 0
        """Moves whenever any source has moved, failed or recovered."""
        self._sources = list(sources)
        self._seen: list[Hashable] = [UNREAD] * len(self._sources)
        self._retry_at: float | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._clock = clock

    def is_current(self) -> bool:
        """Whether every source is as it was when it was last read: asked before every call."""
        try:
            unmoved = [source.generation() for source in self._sources] == self._seen
        except Exception:  # noqa: BLE001 - refreshing finds out which one it was
            return False
        return unmoved and self._retry_at is None

    async def refresh(self) -> None:
        """Let every source read again that says it has moved; the others are not touched.

        The reading is a task of its own: callers that arrive together share it, and one that leaves does
        not stop it.
        """
        if self._refreshing is not None and not self._refreshing.done():
            await asyncio.shield(self._refreshing)  # it may have begun before what we must see
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh_all())
        await asyncio.shield(self._refreshing)

    async def _refresh_all(self) -> None:
        if self._retry_at is not None and self._clock() >= self._retry_at:
            self._forget_failures()
        for index, source in enumerate(self._sources):
            if self._generation(source) != self._seen[index]:
                await self._refresh(index, source)

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool of the first source that has the name."""
        return await self._find(self._sources, name, version)

    async def wake(self) -> None:
        """Let servers that must start for a listing start beside each other: each may take seconds."""
        remote = [source for source in self._sources if getattr(source, "is_remote", False)]
        if len(remote) > 1:
            nothing: Page[Tool] = Page(())
            await asyncio.gather(
                *(self._ask(source, lambda source: source.page(None, 1), nothing) for source in remote)
            )

    async def count_local(self) -> int:
        """Return how many tools are not another server's."""
        local = [source for source in self._sources if not getattr(source, "is_remote", False)]
        return sum([await self._ask(source, lambda source: source.count(), 0) for source in local])

    async def page(self, cursor: str | None, limit: int, *, wakes: bool = True) -> Page[Tool]:
        """Return tools from an opaque cursor on, source by source; wakes: servers start if they must."""
        if cursor is None and wakes:
            await self.wake()
        at, _, inner = (cursor or "0:").partition(":")
        for index in range(int(at), len(self._sources)):
            if not wakes and getattr(self._sources[index], "is_asleep", False):
                continue
            page = await self._page_of(index, inner or None, limit)
            if page.items or page.next:
                return page
            inner = ""
        return Page(())

    async def packs(self) -> set[str]:
        """Return the names of all packs."""
        return await self._packs(self._sources)

    async def pack(self, name: str) -> list[Tool]:
        """Return the tools of one pack; the first source that has a name keeps it."""
        found: dict[str, Tool] = {}
        for source in self._sources:
            for tool in await self._pack_of(source, name):
                if not await self._gives_way(source, name):
                    found.setdefault(tool.spec.name, tool)
        return list(found.values())

    @property
    def left_out(self) -> dict[str, str]:
        """What could not become a pack, by the name that it would have, and why."""
        return {
            name: why for source in self._sources for name, why in getattr(source, "left_out", {}).items()
        }

    def trouble(self, name: str) -> str:
        """Why the pack or source of this name has no tools; nothing where that is no wonder."""
        named = [source for source in self._sources if source.name == name]
        reasons = "".join(getattr(source, "reason", "") for source in named)
        return self.failures.get(name, "") or reasons or self.left_out.get(name, "")

    async def count(self) -> int:
        """Return how many tools the sources hold, as far as that is known without starting a server."""
        awake = [source for source in self._sources if not getattr(source, "is_asleep", False)]
        return sum([await self._ask(source, lambda source: source.count(), 0) for source in awake])

    async def _find(self, sources: Sequence[ToolSource], name: str, version: str | None) -> Tool | None:
        for source in sources:
            tool = await self._ask(source, lambda source: source.find(name, version), None)
            if tool is not None and not await self._gives_way(source, tool.spec.pack):
                return tool
        return None

    async def _gives_way(self, source: ToolSource, pack: str) -> bool:
        """Whether somebody else's pack of this name stands in the place of a spare one."""
        if not getattr(source, "is_spare", False):
            return False
        return pack in await self._packs([other for other in self._sources if other is not source])

    async def _packs(self, sources: Sequence[ToolSource]) -> set[str]:
        nothing: Collection[str] = ()
        return {
            name
            for source in sources
            for name in await self._ask(source, lambda source: source.packs(), nothing)
        }

    async def _pack_of(self, source: ToolSource, name: str) -> Sequence[Tool]:
        nothing: Sequence[Tool] = ()
        return await self._ask(source, lambda source: source.pack(name), nothing)

    async def _page_of(self, index: int, cursor: str | None, limit: int) -> Page[Tool]:
        """A page of one source, without the names that an earlier source has claimed."""
        nothing: Page[Tool] = Page(())
        page = await self._ask(self._sources[index], lambda source: source.page(cursor, limit), nothing)
        earlier = self._sources[:index]
        tools = [
            tool
            for tool in page.items
            if not await self._gives_way(self._sources[index], tool.spec.pack)
            and not await self._find(earlier, tool.spec.name, None)
        ]
        if page.next:
            return Page(tools, f"{index}:{page.next}")
        return Page(tools, f"{index + 1}:" if index + 1 < len(self._sources) else None)

    async def _refresh(self, index: int, source: ToolSource) -> None:
        generation = self._generation(source)
        if generation is not FAILED:
            self.failures.pop(source.name, None)
            await self._ask(source, lambda source: source.refresh(), None)
            await self._name_duplicates(index)
        self._seen[index] = generation
        self.generation += 1

    async def _name_duplicates(self, index: int) -> None:
        """Say which tools of a source are left out because an earlier one has their names."""
        source, earlier = self._sources[index], self._sources[:index]
        if getattr(source, "is_spare", False):
            return
        for pack in await self._packs(earlier) & await self._packs([source]):
            for tool in await self._pack_of(source, pack):
                if await self._find(earlier, tool.spec.name, None):
                    log.error("duplicate tool %r of %s is left out", tool.spec.name, source.name)

    def _generation(self, source: ToolSource) -> Hashable:
        try:
            return source.generation()
        except Exception as error:  # noqa: BLE001 - one bad source never harms the others
            self._fail(source, error)
            return FAILED

    async def _ask(self, source: ToolSource, ask: Callable[[ToolSource], Awaitable[T]], otherwise: T) -> T:
        if source.name in self.failures:
            return otherwise
        try:
            return await ask(source)
        except Exception as error:  # noqa: BLE001 - one bad source never harms the others
            self._fail(source, error)
            return otherwise

    def _fail(self, source: ToolSource, error: Exception) -> None:
        if source.name not in self.failures:
            log.error("source %s fails and counts as empty: %s: %s", source.name, type(error).__name__, error)
            self.generation += 1
            self._retry_at = self._clock() + RETRY_AFTER
        self.failures[source.name] = f"{type(error).__name__}: {error}"

    def _forget_failures(self) -> None:
        self._retry_at = None
        for index, source in enumerate(self._sources):
            if self.failures.pop(source.name, None) is not None:
                self._seen[index] = UNREAD
