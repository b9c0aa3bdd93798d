"""Packs that are not stored here, as bundles: all that can be done is to look, and to switch them."""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence

from onetool.domain.bundle import Bundle, Listed, NoSuchBundle, Pair
from onetool.domain.shelf import bundle_of, listed_of
from onetool.domain.tool import ToolSpec
from onetool.ports import SwitchStore
from onetool.threads import Threads

Packs = Callable[[], Awaitable[Mapping[str, Sequence[ToolSpec]]]]


class Unstored:
    """Every pack of every other source. There are few: all are looked at."""

    def __init__(self, packs: Packs, switches: SwitchStore, threads: Threads) -> None:
        self._packs, self._switches, self._threads = packs, switches, threads

    def generation(self) -> Hashable:
        """Moves with every switch."""
        return self._switches.generation()

    async def bundles(self) -> dict[str, Bundle]:
        """Every pack, by the id of its bundle."""
        switches = await self._threads.run(self._switches.read)
        packs = await self._packs()
        found = [bundle_of(pack, specs[0], switches) for pack, specs in packs.items() if specs]
        return {bundle.id: bundle for bundle in found}

    async def tools(self) -> list[Listed]:
        """Every tool."""
        switches = await self._threads.run(self._switches.read)
        return [
            listed_of(spec, bundle_of(pack, specs[0], switches), switches)
            for pack, specs in (await self._packs()).items()
            for spec in specs
        ]

    async def tool(self, pair: Pair) -> Listed | None:
        """One tool; None when its bundle is not one of these.

        Raises NoSuchBundle when it is, and has no such tool.
        """
        if pair[0] not in await self.bundles():
            return None
        found = [listed for listed in await self.tools() if listed.tool.pair == pair]
        if not found:
            raise missing(pair)
        return found[0]

    async def switch(self, id: str, is_enabled: bool) -> None:
        """Switch a pack or a tool on or off."""
        await self._threads.run(self._switches.set, id, is_enabled)


def missing(pair: Pair) -> NoSuchBundle:
    """That there is no such tool."""
    return NoSuchBundle(f"There is no tool {pair[1]!r} version {pair[2]!r} in bundle {pair[0]}.")
