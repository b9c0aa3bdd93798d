"""What is known of a server without asking it: its last listing, and what a person has approved of it."""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence

from onetool.domain.manifest import Definition, HeldBack, Manifest, approve
from onetool.ports import ManifestStore
from onetool.threads import Threads

from .offers import Offered, Offers

UNREAD: Hashable = object()


class Known:
    """The manifest of one server and the tools made of it, replaced whole."""

    def __init__(self, server: str, store: ManifestStore, offers: Offers, threads: Threads) -> None:
        self._server, self._store, self._offers, self._threads = server, store, offers, threads
        self._read: Hashable = UNREAD
        self._turn = asyncio.Lock()  # what was read before a change must not come after it
        self.manifest: Manifest | None = None
        self.offered = Offered()

    def generation(self) -> Hashable:
        """Moves when another listing or an approval was kept, by whichever process."""
        return self._store.generation(self._server)

    async def refresh(self) -> None:
        """Read everything again."""
        async with self._turn:
            before = self.generation()
            self.manifest, self.offered = await self._threads.run(self._read_all)
            self._read = before

    async def be_read(self) -> None:
        """Read everything again if it has moved."""
        if self._read != self.generation():
            await self.refresh()

    async def look_at(self, tools: Sequence[Definition]) -> None:
        """Scan definitions before they are kept: nobody waits for that but whoever lists them."""
        await self._threads.run(self._offers.look_at, tools)

    async def change(self, change: Callable[[Manifest | None], Manifest]) -> Manifest:
        """Keep another listing, or another approval."""
        async with self._turn:
            manifest, self.offered = await self._threads.run(self._change_all, change)
            self.manifest = manifest
        return manifest

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Pin tools as somebody has seen them; the server may have listed others meanwhile.

        Raises ValueError for a tool that is not listed, or that has changed since.
        """

        def pinned(known: Manifest | None) -> Manifest:
            manifest = known or Manifest(listed_at=0.0, tools=(), pins={})
            for name, pin in seen.items():
                tool = manifest.find(name)
                if tool is None:
                    raise ValueError(f"{self._server!r} lists no tool {name!r}.")
                if tool.pin != pin:
                    raise ValueError(f"{name!r} has changed again while you looked at it: look once more.")
            return approve(manifest, seen)

        if seen:
            await self.change(pinned)

    def held_back(self) -> list[HeldBack]:
        """Return the tools that wait for approval, as they were and as they are."""
        if self.manifest is None:
            return []
        held, replaced = self.offered.held, self.manifest.replaced
        return [
            HeldBack(name=tool.name, reason=held[tool.name], old=replaced.get(tool.name), new=tool)
            for tool in self.manifest.tools
            if held.get(tool.name)
        ]

    def _read_all(self) -> tuple[Manifest | None, Offered]:
        manifest = self._store.read(self._server)
        return manifest, self._offers.of(manifest)

    def _change_all(self, change: Callable[[Manifest | None], Manifest]) -> tuple[Manifest, Offered]:
        manifest = self._store.change(self._server, change)
        return manifest, self._offers.of(manifest)
