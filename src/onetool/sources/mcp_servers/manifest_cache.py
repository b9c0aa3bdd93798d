"""A cache of one server's stored manifest: its last listing and the user's approvals."""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from onetool.domain.servers.instructions import pin_of
from onetool.domain.servers.manifest import QuarantinedTool, ServerManifest, approve
from onetool.domain.servers.server_item import ServerItem
from onetool.domain.servers.server_tool import ServerTool
from onetool.ports import ManifestStore
from onetool.threads import Threads

from .tool_factory import ServerTools, ToolFactory

NEVER_READ: Hashable = object()


class ManifestCache:
    """The manifest of one server and the tools built from it, replaced as a whole."""

    def __init__(self, server: str, store: ManifestStore, factory: ToolFactory, threads: Threads) -> None:
        self._server, self._store, self._factory, self._threads = server, store, factory, threads
        self._read_generation: Hashable = NEVER_READ
        self._lock = asyncio.Lock()  # an older read must not overwrite a newer change
        self.manifest: ServerManifest | None = None
        self.tools = ServerTools()

    def generation(self) -> Hashable:
        """Return a value that changes when any process stores a listing or an approval."""
        return self._store.generation(self._server)

    async def refresh(self) -> None:
        """Read the manifest again."""
        async with self._lock:
            generation = self.generation()
            manifest = await self._store.read(self._server)
            self.tools = await self._threads.run(self._factory.build, manifest)
            self.manifest, self._read_generation = manifest, generation

    async def ensure_fresh(self) -> None:
        """Read the manifest again if it changed."""
        if self._read_generation != self.generation():
            await self.refresh()

    async def scan(self, definitions: Sequence[ServerTool | ServerItem]) -> None:
        """Scan definitions before they are stored, so that `change` holds the lock only briefly."""
        await self._threads.run(self._factory.scan, definitions)

    async def run_on_thread(self, function: Callable[[str], list[str]], text: str) -> list[str]:
        """Run a scan on a thread."""
        return await self._threads.run(function, text)

    async def change(self, change: Callable[[ServerManifest | None], ServerManifest]) -> ServerManifest:
        """Store a new listing or approval, and return the new manifest."""
        async with self._lock:
            manifest = await self._store.change(self._server, change)
            self.tools = await self._threads.run(self._factory.build, manifest)
            self.manifest = manifest
        return manifest

    async def approve(self, seen: Mapping[str, str]) -> None:
        """Approve the definitions that the user reviewed; the server may list others by now.

        Raises:
            ValueError: A tool is not listed, or changed after the review.
        """

        def approve_seen(stored: ServerManifest | None) -> ServerManifest:
            manifest = stored or ServerManifest(listed_at=0.0, tools=(), pins={})
            for name, pin in seen.items():
                pins = [known for label, known in manifest.reviewable() if label == name]
                if not pins:
                    raise ValueError(f"Server {self._server!r} has no tool {name!r}.")
                if pin not in pins:
                    raise ValueError(f"Tool {name!r} changed again during the review. Review it again.")
            return approve(manifest, seen)

        if seen:
            await self.change(approve_seen)

    async def approve_instructions(self, pin: str) -> None:
        """Approve the instructions that the user reviewed; the server may have sent others by now.

        Raises:
            ValueError: There are none, or they changed after the review.
        """

        def approve_seen(stored: ServerManifest | None) -> ServerManifest:
            if stored is None or stored.instructions is None:
                raise ValueError(f"Server {self._server!r} has no instructions.")
            if pin_of(stored.instructions.received) != pin:
                raise ValueError("The instructions changed again during the review. Review them again.")
            return replace(stored, instructions=stored.instructions.approve())

        await self.change(approve_seen)

    def quarantined(self) -> list[QuarantinedTool]:
        """Return what is quarantined, with the old and new definitions."""
        if self.manifest is None:
            return []
        reasons, previous = self.tools.quarantined, self.manifest.previous
        found = [
            QuarantinedTool(name=tool.name, reason=reasons[tool.name], old=previous.get(tool.name), new=tool)
            for tool in self.manifest.tools
            if reasons.get(tool.name)
        ]
        for kind, listed in self.tools.items.items():
            old = self.manifest.items[kind].previous
            found += [
                QuarantinedTool(name=item.label, reason=reason, old=old.get(key), new=item)
                for key, (item, _, reason) in listed.items()
                if reason
            ]
        texts = self.manifest.prompt_texts.refused
        return found + [
            QuarantinedTool(name=text.label, reason=text.reason, old=None, new=text) for text in texts
        ]
