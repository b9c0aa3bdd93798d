"""All sources as one. The first source with a name wins, and a failing source counts as empty."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from typing import TypeVar

from onetool.domain.page import Page
from onetool.domain.tools.tool import Tool
from onetool.ports import ToolSource

log = logging.getLogger(__name__)
T = TypeVar("T")

RETRY_AFTER = 5.0
"""Seconds after which a failed source is used again, unless it changes earlier."""
FAILED, UNREAD = object(), object()
"""Generations of a source that failed, and of one that must be read again."""


class SourceChain:
    """Queries several sources in order. A failing source is logged and does not affect the others."""

    def __init__(self, sources: Sequence[ToolSource], clock: Callable[[], float] = time.monotonic) -> None:
        self.failures: dict[str, str] = {}
        """Sources that currently fail, by name, and why."""
        self.generation = 0
        """Changes whenever a source has changed, failed or recovered."""
        self._sources = list(sources)
        self._generations: list[Hashable] = [UNREAD] * len(self._sources)
        self._duplicates: list[Sequence[str]] = [()] * len(self._sources)
        self._retry_at: float | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._clock = clock

    def is_current(self) -> bool:
        """Whether no source has changed since it was last read. Cheap: it runs before every call."""
        try:
            is_unchanged = [source.generation() for source in self._sources] == self._generations
        except Exception:  # noqa: BLE001 - `refresh` finds out which source failed
            return False
        return is_unchanged and self._retry_at is None

    async def refresh(self) -> None:
        """Refresh the sources that have changed.

        Concurrent callers share one task, and a caller that is cancelled does not stop it.
        """
        if self._refreshing is not None and not self._refreshing.done():
            await asyncio.shield(self._refreshing)  # it may have started before the latest change
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh_all())
        await asyncio.shield(self._refreshing)

    async def _refresh_all(self) -> None:
        if self._retry_at is not None and self._clock() >= self._retry_at:
            self._reset_failures()
        for index, source in enumerate(self._sources):
            if self._generation(source) != self._generations[index]:
                await self._refresh(index, source)

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool of the first source that has the name; None if there is none."""
        return await self._find(self._sources, name, version)

    async def start_remote(self) -> None:
        """Start the servers that a listing needs concurrently, because each may take seconds."""
        remote = [source for source in self._sources if source.capabilities.remote]
        if len(remote) > 1:
            empty: Page[Tool] = Page(())
            await asyncio.gather(
                *(self._query(source, lambda source: source.page(None, 1), empty) for source in remote)
            )

    async def count_local(self) -> int:
        """Return the number of tools that do not belong to another server."""
        local = [source for source in self._sources if not source.capabilities.remote]
        return sum([await self._query(source, lambda source: source.count(), 0) for source in local])

    async def page(self, cursor: str | None, limit: int, *, start_servers: bool = True) -> Page[Tool]:
        """Return up to `limit` tools after an opaque cursor, source by source."""
        if cursor is None and start_servers:
            await self.start_remote()
        start, _, source_cursor = (cursor or "0:").partition(":")
        for index in range(int(start), len(self._sources)):
            if start_servers or not self._sources[index].status().needs_start:
                page = await self._page_of(index, source_cursor or None, limit)
                if page.items or page.next:
                    return page
            source_cursor = ""
        return Page(())

    async def packs(self) -> set[str]:
        """Return the names of all packs."""
        return await self._packs(self._sources)

    async def pack(self, name: str) -> list[Tool]:
        """Return the tools of one pack from all sources; the first source with a name wins."""
        tools: dict[str, Tool] = {}
        for source in self._sources:
            for tool in await self._pack_of(source, name):
                if not await self._is_overridden(source, name):
                    tools.setdefault(tool.spec.name, tool)
        return list(tools.values())

    @property
    def skipped(self) -> dict[str, str]:
        """Packs that were not loaded, by name, and why."""
        return {name: reason for source in self._sources for name, reason in source.status().skipped.items()}

    @property
    def skipped_tools(self) -> list[str]:
        """Tools that were not loaded: where each is defined, and why."""
        invalid = [message for source in self._sources for message in source.status().skipped_tools]
        return [*invalid, *(message for messages in self._duplicates for message in messages)]

    def unavailable_reason(self, name: str) -> str:
        """Return why the pack or source with this name has no tools; empty if unknown."""
        matching = [source for source in self._sources if source.name == name]
        reasons = "".join(source.status().reason for source in matching)
        return self.failures.get(name, "") or reasons or self.skipped.get(name, "")

    async def count(self) -> int:
        """Return the number of tools, except those of servers that must start first."""
        ready = [source for source in self._sources if not source.status().needs_start]
        return sum([await self._query(source, lambda source: source.count(), 0) for source in ready])

    async def _find(self, sources: Sequence[ToolSource], name: str, version: str | None) -> Tool | None:
        for source in sources:
            tool = await self._query(source, lambda source: source.find(name, version), None)
            if tool is not None and not await self._is_overridden(source, tool.spec.pack):
                return tool
        return None

    async def _is_overridden(self, source: ToolSource, pack: str) -> bool:
        """Whether another source has a pack with this name, which hides the pack of an overridable source."""
        if not source.capabilities.overridable:
            return False
        return pack in await self._packs([other for other in self._sources if other is not source])

    async def _packs(self, sources: Sequence[ToolSource]) -> set[str]:
        empty: Collection[str] = ()
        return {
            name
            for source in sources
            for name in await self._query(source, lambda source: source.packs(), empty)
        }

    async def _pack_of(self, source: ToolSource, name: str) -> Sequence[Tool]:
        empty: Sequence[Tool] = ()
        return await self._query(source, lambda source: source.pack(name), empty)

    async def _page_of(self, index: int, cursor: str | None, limit: int) -> Page[Tool]:
        """Return a page of one source without the names that an earlier source has."""
        empty: Page[Tool] = Page(())
        page = await self._query(self._sources[index], lambda source: source.page(cursor, limit), empty)
        earlier = self._sources[:index]
        tools = [
            tool
            for tool in page.items
            if not await self._is_overridden(self._sources[index], tool.spec.pack)
            and not await self._find(earlier, tool.spec.name, None)
        ]
        if page.next:
            return Page(tools, f"{index}:{page.next}")
        return Page(tools, f"{index + 1}:" if index + 1 < len(self._sources) else None)

    async def _refresh(self, index: int, source: ToolSource) -> None:
        generation = self._generation(source)
        if generation is not FAILED:
            self.failures.pop(source.name, None)
            await self._query(source, lambda source: source.refresh(), None)
            self._duplicates[index] = await self._find_duplicates(index)
            for message in self._duplicates[index]:
                log.error("%s", message)
        self._generations[index] = generation
        self.generation += 1

    async def _find_duplicates(self, index: int) -> Sequence[str]:
        """Return a message for each tool that is skipped because an earlier source has its name."""
        source, earlier = self._sources[index], self._sources[:index]
        if source.capabilities.overridable:
            return ()
        return [
            f"skipped duplicate tool {tool.spec.name!r} from source {source.name}"
            for pack in await self._packs(earlier) & await self._packs([source])
            for tool in await self._pack_of(source, pack)
            if await self._find(earlier, tool.spec.name, None)
        ]

    def _generation(self, source: ToolSource) -> Hashable:
        try:
            return source.generation()
        except Exception as error:  # noqa: BLE001 - one failing source must not affect the others
            self._fail(source, error)
            return FAILED

    async def _query(self, source: ToolSource, query: Callable[[ToolSource], Awaitable[T]], default: T) -> T:
        """Return what a source answers, or the default if the source fails or has failed recently."""
        if source.name in self.failures:
            return default
        try:
            return await query(source)
        except Exception as error:  # noqa: BLE001 - one failing source must not affect the others
            self._fail(source, error)
            return default

    def _fail(self, source: ToolSource, error: Exception) -> None:
        if source.name not in self.failures:
            log.error("source %s failed; treated as empty: %s: %s", source.name, type(error).__name__, error)
            self.generation += 1
            self._retry_at = self._clock() + RETRY_AFTER
        self.failures[source.name] = f"{type(error).__name__}: {error}"

    def _reset_failures(self) -> None:
        self._retry_at = None
        for index, source in enumerate(self._sources):
            if self.failures.pop(source.name, None) is not None:
                self._generations[index] = UNREAD
