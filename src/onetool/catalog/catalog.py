"""Which tools exist now. It knows names, not what a tool does."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from onetool.domain.caller import Caller
from onetool.domain.errors import Reason, ToolNotFound
from onetool.domain.nearest import did_you_mean
from onetool.domain.paging import Page
from onetool.domain.tool import Tool, ToolSpec, any_matches
from onetool.ports import ToolSource

from .sources import Sources

PAGE = 256
REMEMBERED = 4096
SUGGEST_AMONG = 2_000
"""How many names are looked through for one that was meant."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The tool that was called, and the one that does its work: another only where a handler was followed."""

    tool: Tool
    worker: Tool

    @property
    def changes(self) -> bool:
        """Whether a call may change things."""
        return self.tool.spec.changes or self.worker.spec.changes

    def fits(self, patterns: Sequence[str]) -> bool:
        """Whether a pattern names the tool, or the one that does its work."""
        return any_matches(patterns, (*self.tool.spec.names, self.worker.spec.name))


class Catalog:
    """Finds the tool that a caller means; remembers what it found until a source moves."""

    def __init__(self, sources: Sequence[ToolSource], aliases: Mapping[str, str] | None = None) -> None:
        self.aliases = dict(aliases or {})
        self._sources = Sources(sources)
        self._resolved: dict[str, Resolved] = {}
        self._generation = -1

    @property
    def failures(self) -> Mapping[str, str]:
        """Sources that cannot be asked at present, and why."""
        return self._sources.failures

    @property
    def left_out(self) -> Mapping[str, str]:
        """What could not become a pack, by the name that it would have, and why."""
        return self._sources.left_out

    async def resolve(self, name: str, caller: Caller) -> Resolved:
        """Return the tool that this caller means, ready to be called.

        Raises ToolNotFound when there is none, or none that this caller may call now.
        """
        if not self._sources.is_current():
            await self._sources.refresh()
        resolved = self._remembered(name) or await self._resolve(name, caller)
        if caller.allowed is not None and not self.is_allowed(resolved.tool.spec, caller):
            message = f"Tool not found: {name!r} is not among the allowed tools."
            raise ToolNotFound(Reason.NOT_ALLOWED, message)
        return resolved

    async def find(self, name: str) -> Tool | None:
        """Return the tool of a name, `name@version` or alias; None where there is none."""
        await self._sources.refresh()
        return await self._find(name) or await self._find(self.aliases.get(name, ""))

    async def page(self, cursor: str | None = None, limit: int = PAGE, *, wakes: bool = True) -> Page[Tool]:
        """Return tools from an opaque cursor on; wakes: servers start if they must."""
        await self._sources.refresh()
        return await self._sources.page(cursor, limit, wakes=wakes)

    async def tools(self, caller: Caller | None = None, *, wakes: bool = True) -> AsyncIterator[Tool]:
        """Walk through all tools, page by page; with a caller only through those that it may call."""
        cursor: str | None = None
        while True:
            page = await self.page(cursor, wakes=wakes)
            for tool in page.items:
                if caller is None or self.is_visible(tool.spec, caller):
                    yield tool
            cursor = page.next
            if cursor is None:
                return

    async def specs(self, caller: Caller | None = None) -> list[ToolSpec]:
        """All tools by their specs; with a caller only those that it may call."""
        return [tool.spec async for tool in self.tools(caller)]

    async def packs(self, caller: Caller | None = None) -> set[str]:
        """The names of all packs; with a caller that has a list only those that are on it."""
        await self._sources.refresh()
        packs = await self._sources.packs()
        if caller is None or caller.allowed is None:
            return packs
        return packs & {"config", *(name.partition(".")[0] for name in caller.allowed)}

    async def pack(self, name: str, caller: Caller | None = None) -> list[ToolSpec]:
        """The tools of one pack; with a caller only those that it may call."""
        await self._sources.refresh()
        tools = await self._sources.pack(name)
        return [tool.spec for tool in tools if caller is None or self.is_visible(tool.spec, caller)]

    async def trouble(self, pack: str) -> str:
        """Why nothing of a pack can be called; nothing where something can."""
        specs = await self.pack(pack)
        if any(spec.enabled for spec in specs):
            return ""
        held = f"it is disabled ({specs[0].disabled_reason or specs[0].name})" if specs else ""
        return held or self._sources.trouble(pack)

    async def has_pack(self, name: str) -> bool:
        """Whether there is a pack of this name."""
        return name in await self.packs()

    async def count_local(self) -> int:
        """How many tools are here, and not another server's."""
        await self._sources.refresh()
        return await self._sources.count_local()

    async def state(self) -> int:
        """A number that moves whenever any tool may have changed."""
        await self._sources.refresh()
        return self._sources.generation

    async def count(self) -> int:
        """How many tools the sources hold, as far as that is known without starting a server."""
        await self._sources.refresh()
        return await self._sources.count()

    def is_allowed(self, spec: ToolSpec, caller: Caller) -> bool:
        """Whether the caller's list of tools has this one, under either of its names."""
        return caller.allows(spec.name) or caller.allows(spec.qualified_name)

    def is_visible(self, spec: ToolSpec, caller: Caller) -> bool:
        """Whether a caller may call a tool now."""
        return spec.enabled and self.is_allowed(spec, caller)

    def _remembered(self, name: str) -> Resolved | None:
        if self._generation != self._sources.generation or len(self._resolved) >= REMEMBERED:
            self._generation = self._sources.generation
            self._resolved.clear()
        return self._resolved.get(name)

    async def _resolve(self, name: str, caller: Caller) -> Resolved:
        generation = self._sources.generation
        tool = await self._find(name) or await self._find(self.aliases.get(name, ""))
        if tool is None:
            raise ToolNotFound(
                Reason.UNKNOWN, f"Tool not found: {name!r}.{await self._what_then(name, caller)}"
            )
        _check_enabled(name, tool)
        resolved = Resolved(tool, await self._worker(tool))
        if generation == self._sources.generation:
            self._resolved[name] = resolved
        return resolved

    async def _find(self, name: str) -> Tool | None:
        bare, _, version = name.partition("@")
        return await self._sources.find(bare, version or None) if bare else None

    async def _worker(self, tool: Tool) -> Tool:
        """Follow a handler once."""
        handler = tool.spec.handler
        if handler == tool.spec.name:
            return tool
        worker = await self._find(handler)
        if worker is None or worker.spec.handler != worker.spec.name:
            message = (
                f"Tool not found: {tool.spec.name!r}, its handler {handler!r} is no function that can run."
            )
            raise ToolNotFound(Reason.NOT_REGISTERED, message)
        _check_enabled(handler, worker)
        return worker

    async def _what_then(self, name: str, caller: Caller) -> str:
        """Why a pack is empty, or which tool was meant."""
        pack = name.partition(".")[0]
        known = await self.packs(caller) | self.left_out.keys()
        if pack in known and (trouble := await self.trouble(pack)):
            return f" {pack!r} cannot be used: {trouble}"
        return did_you_mean(name, await self._names(caller))

    async def _names(self, caller: Caller) -> list[str]:
        names: list[str] = []
        async for tool in self.tools(caller, wakes=False):
            names.append(tool.spec.name)
            if len(names) == SUGGEST_AMONG:
                break
        return names


def _check_enabled(name: str, tool: Tool) -> None:
    if not tool.spec.enabled:
        why = f" ({tool.spec.disabled_reason})" if tool.spec.disabled_reason else ""
        raise ToolNotFound(Reason.DISABLED, f"Tool not found: {name!r} is disabled{why}.")
