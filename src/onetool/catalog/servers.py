"""Other MCP servers: which there are, how they are, and what comes of trying one."""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onetool.ports import ServerSource
from onetool.settings.schema import Server

PATIENCE = 30.0
"""Seconds that somebody who tries a server out will wait: the first start may download it."""


class Servers(Mapping[str, ServerSource]):
    """Those that are switched on, by name; those that are off are only described."""

    def __init__(self, sources: Iterable[ServerSource], configured: Mapping[str, Server]) -> None:
        self._sources = {source.name: source for source in sources}
        self._configured = configured

    def __getitem__(self, name: str) -> ServerSource:
        return self._sources[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    async def describe(self) -> list[dict[str, Any]]:
        """Describe all servers as far as they are known without starting them."""
        names = dict.fromkeys([*self._configured, *self._sources])
        return [await self._describe(name) for name in names]

    async def try_out(self, name: str) -> dict[str, Any]:
        """Start a server if need be, and say what it answers.

        Raises KeyError where none of this name is switched on.
        """
        server, start = self[name], time.monotonic()
        ok = await server.probe(PATIENCE)
        took = time.monotonic() - start
        await server.refresh()
        tools = await server.count() if ok else None
        held = len(await server.held_back())
        reason = server.reason or ("" if ok else "it does not answer")
        waiting = f"{held} tools are held back. Look at them: onetool servers approve {name}" if held else ""
        return {"name": name, "ok": ok, "tools": tools, "seconds": took, "reason": reason or waiting}

    async def _describe(self, name: str) -> dict[str, Any]:
        server, written = self.get(name), self._configured.get(name, Server())
        known: dict[str, Any] = {"name": name, "state": "off", "reason": "", "tools": None, "heldBack": 0}
        if server is not None:
            await server.refresh()
            known |= {"state": server.state, "reason": server.reason}
            known["tools"] = None if server.state == "configured" else await server.count()
            known["heldBack"] = len(await server.held_back())
        where = written.url or " ".join([written.command or "", *written.args])
        return known | {"where": where}
