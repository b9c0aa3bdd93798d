"""A source whose packs and tools can be switched off: a wrapper, so that no source knows of it."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace

from onetool.domain.paging import Page
from onetool.domain.shelf import BUNDLE_OFF, OFF, bundle_id_of, tool_id_of
from onetool.domain.tool import Tool
from onetool.ports import SwitchStore, ToolSource
from onetool.threads import Threads


class Switched:
    """Hands on what the source has, disabled where a switch is off."""

    def __init__(self, source: ToolSource, switches: SwitchStore, threads: Threads) -> None:
        self.name = source.name
        self.is_remote = getattr(source, "is_remote", False)
        self.is_spare = getattr(source, "is_spare", False)
        self._source, self._store, self._threads = source, switches, threads
        self._switches: Mapping[str, bool] = {}

    @property
    def reason(self) -> str:
        """Why a server has failed; nothing for other sources."""
        return getattr(self._source, "reason", "")

    @property
    def left_out(self) -> Mapping[str, str]:
        """What could not become a pack, and why."""
        return getattr(self._source, "left_out", {})

    @property
    def is_asleep(self) -> bool:
        """Whether a server must be started before its tools are known."""
        return getattr(self._source, "is_asleep", False)

    def generation(self) -> Hashable:
        """Moves when the source does, or a switch."""
        return self._source.generation(), self._store.generation()

    async def refresh(self) -> None:
        """Read the switches and the source again."""
        self._switches = await self._threads.run(self._store.read)
        await self._source.refresh()

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool of this name, switched off or not."""
        tool = await self._source.find(name, version)
        return self._switched(tool) if tool else None

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return tools from an opaque cursor on."""
        page = await self._source.page(cursor, limit)
        return Page([self._switched(tool) for tool in page.items], page.next)

    async def packs(self) -> Collection[str]:
        """Return the names of all packs."""
        return await self._source.packs()

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        return [self._switched(tool) for tool in await self._source.pack(name)]

    async def count(self) -> int:
        """Return how many tools there are."""
        return await self._source.count()

    def _switched(self, tool: Tool) -> Tool:
        if not self._switches:
            return tool
        if not self._switches.get(bundle_id_of(tool.spec.pack), True):
            return _off(tool, BUNDLE_OFF)
        return tool if self._switches.get(tool_id_of(tool.spec.name), True) else _off(tool, OFF)


def _off(tool: Tool, why: str) -> Tool:
    return replace(tool, spec=replace(tool.spec, enabled=False, disabled_reason=why))
