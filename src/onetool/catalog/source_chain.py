"""All sources as one. The first source with a name wins, and a failing source counts as empty.

If the database of a workspace is away, its sources do not fail: what they have is not known.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from typing import TypeVar

from onetool.domain.errors import WorkspaceUnavailable
from onetool.domain.page import Page
from onetool.domain.search.matching import contains
from onetool.domain.tools.tool import Tool
from onetool.ports import SearchableSource, ToolSource

log = logging.getLogger(__name__)
T = TypeVar("T")
S = TypeVar("S", bound=ToolSource)

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
        self.memory_generation = 0
        """The same without searchable sources."""
        self._sources = list(sources)
        self.searchable = [
            (index, source)
            for index, source in enumerate(self._sources)
            if isinstance(source, SearchableSource)
        ]
        """The searchable sources with their positions."""
        self._generations: list[Hashable] = [UNREAD] * len(self._sources)
        self._duplicates: list[Sequence[str]] = [()] * len(self._sources)
        self._owners: tuple[int, Mapping[str, Sequence[int]]] = (-1, {})
        """The positions of the sources with each pack, and the generation in which they were read."""
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
        if self.is_current():
            return
        if self._refreshing is not None and not self._refreshing.done():
            await asyncio.shield(self._refreshing)  # it may have started before the latest change
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.get_running_loop().create_task(self._refresh_all())
        await asyncio.shield(self._refreshing)

    async def _refresh_all(self) -> None:
        if self._retry_at is not None and self._clock() >= self._retry_at:
            self._reset_failures()
        changed = [
            index
            for index, source in enumerate(self._sources)
            if self._generation(source) != self._generations[index] and await self._refresh(index, source)
        ]
        shared = {pack: owners for pack, owners in (await self._pack_owners()).items() if len(owners) > 1}
        for index in changed:
            self._duplicates[index] = await self._find_duplicates(index, shared)
            for message in self._duplicates[index]:
                log.error("%s", message)

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool of the first source that has the name; None if there is none."""
        return await self._find(self._sources, name, version)

    async def start_remote(self) -> None:
        """Start the servers that a listing needs concurrently, because each may take seconds."""
        remote = [source for source in self._sources if source.capabilities.remote]
        if len(remote) > 1:
            empty: Page[Tool] = Page(())
            await asyncio.gather(
                *(self.query(source, lambda source: source.page(None, 1), empty) for source in remote)
            )

    async def count_local(self) -> int:
        """Return the number of tools that do not belong to another server."""
        local = [source for source in self._sources if not source.capabilities.remote]
        return sum([await self._count(source) for source in local])

    async def page(
        self,
        cursor: str | None,
        limit: int,
        *,
        start_servers: bool = True,
        pattern: str = "",
        in_memory: bool = False,
    ) -> Page[Tool]:
        """Return up to `limit` tools after an opaque cursor, source by source.

        pattern: only tools whose names contain this text.
        in_memory: omit the tools of searchable sources.
        """
        if cursor is None and start_servers:
            await self.start_remote()
        tools: list[Tool] = []
        start, _, source_cursor = (cursor or "0:").partition(":")
        for index in range(int(start), len(self._sources)):
            source = self._sources[index]
            is_listed = start_servers or not source.status().needs_start
            if is_listed and not (in_memory and isinstance(source, SearchableSource)):
                page = await self._page_of(index, source_cursor or None, limit - len(tools), pattern)
                tools += page.items
                if page.next:
                    return Page(tuple(tools), f"{index}:{page.next}")
                if len(tools) >= limit:
                    return Page(tuple(tools), f"{index + 1}:" if index + 1 < len(self._sources) else None)
            source_cursor = ""
        return Page(tuple(tools))

    async def packs(self) -> set[str]:
        """Return the names of all packs."""
        return set(await self._pack_owners())

    async def pack(self, name: str) -> list[Tool]:
        """Return the tools of one pack from all sources; the first source with a name wins."""
        tools: dict[str, Tool] = {}
        for index in (await self._pack_owners()).get(name, ()):
            source = self._sources[index]
            if not await self._is_overridden(source, name):
                for tool in await self._pack_of(source, name):
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

    @property
    def unlisted(self) -> dict[str, str]:
        """Servers whose tools are missing in listings because they have not started, and why."""
        statuses = {source.name: source.status() for source in self._sources}
        starting = {name: status for name, status in statuses.items() if status.needs_start}
        return {name: status.reason for name, status in starting.items() if status.reason}

    def unavailable_reason(self, name: str) -> str:
        """Return why the pack or source with this name has no tools; empty if unknown."""
        matching = [source for source in self._sources if source.name == name]
        reasons = "".join(source.status().reason for source in matching)
        return self.failures.get(name, "") or reasons or self.skipped.get(name, "")

    async def count(self) -> int:
        """Return the number of tools, except those of servers that must start first."""
        ready = [source for source in self._sources if not source.status().needs_start]
        return sum([await self._count(source) for source in ready])

    async def _count(self, source: ToolSource) -> int:
        """Return the number of tools of a source, without packs that another source hides."""
        count = await self.query(source, lambda source: source.count(), 0)
        if not source.capabilities.overridable:
            return count
        index, owners = self._sources.index(source), await self._pack_owners()
        hidden = [pack for pack, having in owners.items() if index in having and len(having) > 1]
        return count - sum([len(await self._pack_of(source, pack)) for pack in hidden])

    async def _find(self, sources: Sequence[ToolSource], name: str, version: str | None) -> Tool | None:
        for source in sources:
            tool = await self.query(source, lambda source: source.find(name, version), None)
            if tool is not None and not await self._is_overridden(source, tool.spec.pack):
                return tool
        return None

    async def _is_overridden(self, source: ToolSource, pack: str) -> bool:
        """Whether another source has a pack with this name, which hides the pack of an overridable source."""
        if not source.capabilities.overridable:
            return False
        owners = (await self._pack_owners()).get(pack, ())
        return any(self._sources[owner] is not source for owner in owners)

    async def _pack_owners(self) -> Mapping[str, Sequence[int]]:
        """Return the positions of the sources that have each pack. They are read once per generation."""
        generation, owners = self._owners
        if generation != self.generation:
            generation, found = self.generation, dict[str, list[int]]()
            empty: Collection[str] = ()
            for index, source in enumerate(self._sources):
                for pack in await self.query(source, lambda source: source.packs(), empty):
                    found.setdefault(pack, []).append(index)
            self._owners = generation, owners = generation, found
        return owners

    async def is_hidden(self, index: int, name: str) -> bool:
        """Whether a tool of a source cannot be called, because its name belongs to another source."""
        pack = name.partition(".")[0]
        return await self._is_overridden(self._sources[index], pack) or await self._has_earlier(
            index, pack, name
        )

    async def _has_earlier(self, index: int, pack: str, name: str) -> bool:
        """Whether a source before this one has a tool with the same name."""
        owners = (await self._pack_owners()).get(pack, ())
        earlier = [self._sources[owner] for owner in owners if owner < index]
        return bool(earlier) and await self._find(earlier, name, None) is not None

    async def _pack_of(self, source: ToolSource, name: str) -> Sequence[Tool]:
        empty: Sequence[Tool] = ()
        return await self.query(source, lambda source: source.pack(name), empty)

    async def _page_of(self, index: int, cursor: str | None, limit: int, pattern: str) -> Page[Tool]:
        """Return a page of one source, with its own cursor, without the names that an earlier source has."""
        empty: Page[Tool] = Page(())
        source = self._sources[index]
        if pattern and isinstance(source, SearchableSource):
            page = await self.query(source, lambda source: source.matching(pattern, cursor, limit), empty)
        else:
            page = await self.query(source, lambda source: source.page(cursor, limit), empty)
        tools = [
            tool
            for tool in page.items
            if contains(pattern, tool.spec.qualified_name)
            and not await self._is_overridden(source, tool.spec.pack)
            and not await self._has_earlier(index, tool.spec.pack, tool.spec.name)
        ]
        return Page(tools, page.next)

    async def _refresh(self, index: int, source: ToolSource) -> bool:
        """Let a changed source read itself again. Return whether it can be used."""
        generation = self._generation(source)
        if generation is not FAILED:
            self.failures.pop(source.name, None)
            await self.query(source, lambda source: source.refresh(), None)
        self._generations[index] = generation
        self._change(source)
        return generation is not FAILED

    async def _find_duplicates(self, index: int, shared: Mapping[str, Sequence[int]]) -> Sequence[str]:
        """Return a message for each tool that is skipped because an earlier source has its name.

        shared: the packs that more than one source has.
        """
        source = self._sources[index]
        if source.capabilities.overridable:
            return ()
        return [
            f"skipped duplicate tool {tool.spec.name!r} from source {source.name}"
            for pack, owners in shared.items()
            if index in owners and owners[0] < index
            for tool in await self._pack_of(source, pack)
            if await self._has_earlier(index, pack, tool.spec.name)
        ]

    def _generation(self, source: ToolSource) -> Hashable:
        try:
            return source.generation()
        except Exception as error:  # noqa: BLE001 - one failing source must not affect the others
            self._fail(source, error)
            return FAILED

    async def query(self, source: S, query: Callable[[S], Awaitable[T]], default: T) -> T:
        """Return what a source answers, or the default if the source fails or has failed recently.

        Raises:
            WorkspaceUnavailable: The database of the workspace is away.
        """
        if source.name in self.failures:
            return default
        try:
            return await query(source)
        except WorkspaceUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one failing source must not affect the others
            self._fail(source, error)
            return default

    def _change(self, source: ToolSource) -> None:
        self.generation += 1
        if not isinstance(source, SearchableSource):
            self.memory_generation += 1

    def _fail(self, source: ToolSource, error: Exception) -> None:
        if source.name not in self.failures:
            log.error("source %s failed; treated as empty: %s: %s", source.name, type(error).__name__, error)
            self._change(source)
            self._retry_at = self._clock() + RETRY_AFTER
        self.failures[source.name] = f"{type(error).__name__}: {error}"

    def _reset_failures(self) -> None:
        self._retry_at = None
        for index, source in enumerate(self._sources):
            if self.failures.pop(source.name, None) is not None:
                self._generations[index] = UNREAD
