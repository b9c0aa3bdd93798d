"""What is known of a server without asking it: its last listing, and what a person has approved of it."""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence

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

    async def approve(self, names: Iterable[str] | None) -> None:
        """Pin tools as they are listed now.

        Raises ValueError for a tool that is not listed.
        """
        await self.be_read()
        manifest = self.manifest or Manifest(listed_at=0.0, tools=(), pins={})
        chosen = None if names is None else list(names)
        listed = {tool.name for tool in manifest.tools}
        if unknown := [name for name in chosen or () if name not in listed]:
            held = ", ".join(sorted(name for name, why in self.offered.held.items() if why)) or "nothing"
            raise ValueError(f"{self._server!r} lists no tool {unknown[0]!r}. Held back: {held}.")
        if listed:
            await self.change(lambda known: approve(known or manifest, chosen))

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
