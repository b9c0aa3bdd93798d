"""Which tools exist now. It knows names, not what a tool does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from onetool.domain.caller import Caller
from onetool.domain.errors import Reason, ToolNotFound
from onetool.domain.nearest import did_you_mean
from onetool.domain.paging import Page
from onetool.domain.tool import Tool
from onetool.ports import ToolSource

log = logging.getLogger(__name__)
T = TypeVar("T")

PAGE = 256
SUGGEST_AMONG = 20_000
"""How many names are looked through for one that was meant."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The tool that was called, and the one that does its work: another only where a handler was followed."""

    tool: Tool
    worker: Tool


class Catalog:
    """The tools of all sources under one name each; the first source to claim a name keeps it."""

    def __init__(self, sources: Sequence[ToolSource], aliases: Mapping[str, str] | None = None) -> None:
        self.aliases = dict(aliases or {})
        self.failures: dict[str, str] = {}
        """Sources that cannot be asked at present, and why."""
        self._sources = tuple(sources)
        self._seen: dict[str, Hashable] = {}
        self._refreshing = asyncio.Lock()

    async def resolve(self, name: str, caller: Caller) -> Resolved:
        """Return the tool that this caller means, ready to be called.

        Raises ToolNotFound when there is none, or none that this caller may call now.
        """
        tool = await self.find(name)
        if tool is None:
            meant = did_you_mean(name, await self._names(caller))
            raise ToolNotFound(Reason.UNKNOWN, f"Tool not found: {name!r}.{meant}")
        if not self.is_allowed(tool, caller):
            raise ToolNotFound(
                Reason.NOT_ALLOWED, f"Tool not found: {name!r} is not among the allowed tools."
            )
        _check_enabled(name, tool)
        return Resolved(tool, await self._worker(tool) if tool.spec.handler else tool)

    async def find(self, name: str) -> Tool | None:
        """Return the tool of a name, `name@version` or alias; None where there is none."""
        await self.refresh()
        tool = await self._find(name)
        if tool is None and name in self.aliases:
            tool = await self._find(self.aliases[name])
        return tool

    def is_allowed(self, tool: Tool, caller: Caller) -> bool:
        """Whether the caller's list of tools has this one, under either of its names."""
        return caller.allows(tool.spec.name) or caller.allows(tool.spec.qualified_name)

    async def page(self, cursor: str | None = None, limit: int = PAGE) -> Page[Tool]:
        """Return tools from an opaque cursor on, source by source."""
        await self.refresh()
        at, _, inner = (cursor or "0:").partition(":")
        for index in range(int(at), len(self._sources)):
            page = await self._page_of(index, inner or None, limit)
            if page.items or page.next:
                return page
            inner = ""
        return Page(())

    async def tools(self, caller: Caller | None = None) -> AsyncIterator[Tool]:
        """Walk through all tools, page by page; with a caller only through those that it may call."""
        cursor: str | None = None
        while True:
            page = await self.page(cursor)
            for tool in page.items:
                if caller is None or (tool.spec.enabled and self.is_allowed(tool, caller)):
                    yield tool
            cursor = page.next
            if cursor is None:
                return

    async def has_pack(self, pack: str) -> bool:
        """Whether any tool lives in this namespace."""
        async for tool in self.tools():
            if tool.spec.pack == pack:
                return True
        return False

    async def count(self) -> int:
        """How many tools the sources hold."""
        await self.refresh()
        return sum([await self._ask(source, lambda s: s.count(), 0) for source in self._sources])

    async def refresh(self) -> None:
        """Let every source read again that says it has moved; the others are not touched."""
        for source in self._sources:
            if self._moved(source):
                async with self._refreshing:
                    await self._refresh(source)

    def _moved(self, source: ToolSource) -> bool:
        return self._generation(source) != self._seen.get(source.name, self)

    def _generation(self, source: ToolSource) -> Hashable:
        try:
            return source.generation()
        except Exception as error:  # noqa: BLE001 - one bad source never harms the others
            self._fail(source, error)
            return "failed"

    async def _refresh(self, source: ToolSource) -> None:
        generation = self._generation(source)
        if generation == self._seen.get(source.name, self):
            return  # another call has done it while this one waited
        self.failures.pop(source.name, None)
        self._seen[source.name] = generation
        await self._ask(source, lambda s: s.refresh(), None)

    async def _ask(self, source: ToolSource, ask: Callable[[ToolSource], Awaitable[T]], otherwise: T) -> T:
        """Ask a source; one that fails is empty until it moves, and health says so."""
        if source.name in self.failures:
            return otherwise
        try:
            return await ask(source)
        except Exception as error:  # noqa: BLE001 - one bad source never harms the others
            self._fail(source, error)
            return otherwise

    def _fail(self, source: ToolSource, error: Exception) -> None:
        why = f"{type(error).__name__}: {error}"
        if self.failures.get(source.name) != why:
            log.error("source %s cannot be asked and counts as empty: %s", source.name, why)
        self.failures[source.name] = why

    async def _find(self, name: str) -> Tool | None:
        bare, _, version = name.partition("@")
        for source in self._sources:
            if tool := await self._ask(source, lambda s: s.find(bare, version or None), None):
                return tool
        return None

    async def _page_of(self, index: int, cursor: str | None, limit: int) -> Page[Tool]:
        """A page of one source, without the names that an earlier source has claimed."""
        nothing: Page[Tool] = Page(())
        page = await self._ask(self._sources[index], lambda source: source.page(cursor, limit), nothing)
        tools = [tool for tool in page.items if not await self._is_claimed(tool, index)]
        if page.next:
            return Page(tools, f"{index}:{page.next}")
        return Page(tools, f"{index + 1}:" if index + 1 < len(self._sources) else None)

    async def _is_claimed(self, tool: Tool, index: int) -> bool:
        """Whether an earlier source has a tool of this name."""
        for source in self._sources[:index]:
            if await self._ask(source, lambda s: s.find(tool.spec.name), None):
                return True
        return False

    async def _worker(self, tool: Tool) -> Tool:
        worker = await self._find(tool.spec.handler)
        if worker is None or worker.spec.handler:
            why = f"its handler {tool.spec.handler!r} is no function that can run"
            raise ToolNotFound(Reason.NOT_REGISTERED, f"Tool not found: {tool.spec.name!r}, {why}.")
        _check_enabled(tool.spec.handler, worker)
        return worker

    async def _names(self, caller: Caller) -> list[str]:
        names: list[str] = []
        async for tool in self.tools(caller):
            names.append(tool.spec.name)
            if len(names) == SUGGEST_AMONG:
                break
        return names


def _check_enabled(name: str, tool: Tool) -> None:
    if not tool.spec.enabled:
        why = f" ({tool.spec.disabled_reason})" if tool.spec.disabled_reason else ""
        raise ToolNotFound(Reason.DISABLED, f"Tool not found: {name!r} is disabled{why}.")
