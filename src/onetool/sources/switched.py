"""Sources whose packs and tools can be switched off: a wrapper, so that no source knows of it."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace

from onetool.domain.paging import Page
from onetool.domain.shelf import BUNDLE_OFF, OFF, bundle_id_of, tool_id_of
from onetool.domain.tool import Tool
from onetool.ports import SwitchStore, ToolSource
from onetool.threads import Threads


class SwitchBoard:
    """Knows the switches. A source without tools, asked first: so they are looked at once for all others."""

    name = "switches"

    def __init__(self, store: SwitchStore, threads: Threads) -> None:
        self._store, self._threads = store, threads
        self._switches: Mapping[str, bool] | None = None

    @property
    def switches(self) -> Mapping[str, bool]:
        """Every switch that was ever touched.

        Raises ValueError where they cannot be read: what was switched off must not come on by that.
        """
        if self._switches is None:
            raise ValueError("which tools are switched off cannot be read")
        return self._switches

    def generation(self) -> Hashable:
        """Moves with every switch."""
        return self._store.generation()

    async def refresh(self) -> None:
        """Read the switches again."""
        try:
            self._switches = await self._threads.run(self._store.read)
        except Exception:
            self._switches = None
            raise

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """There is none."""
        return None

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """There are none."""
        return Page(())

    async def packs(self) -> Collection[str]:
        """There are none."""
        return ()

    async def pack(self, name: str) -> Sequence[Tool]:
        """There are none."""
        return ()

    async def count(self) -> int:
        """There are none."""
        return 0


class Switched:
    """Hands on what the source has, disabled where a switch is off."""

    def __init__(self, source: ToolSource, board: SwitchBoard) -> None:
        self.name, self.generation, self.refresh = source.name, source.generation, source.refresh
        self.is_remote = getattr(source, "is_remote", False)
        self.is_spare = getattr(source, "is_spare", False)
        self._source, self._board = source, board

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
        switches = self._board.switches
        if not switches:
            return tool
        if not switches.get(bundle_id_of(tool.spec.pack), True):
            return _off(tool, BUNDLE_OFF)
        return tool if switches.get(tool_id_of(tool.spec.name), True) else _off(tool, OFF)


def _off(tool: Tool, why: str) -> Tool:
    return replace(tool, spec=replace(tool.spec, enabled=False, disabled_reason=why))
