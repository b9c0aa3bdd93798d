"""Other MCP servers: which there are, how they are, and what comes of trying one."""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onetool.domain.secrecy import shown_server
from onetool.domain.texts import counted
from onetool.ports import ServerSource
from onetool.settings.schema import Server

log = logging.getLogger(__name__)

PROBE_S = 5.0
"""Seconds that a server has to answer when the health of all is asked for."""
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
        waiting = (
            f"{counted(held, 'tool')} held back. Look at them: onetool servers approve {name}" if held else ""
        )
        return {"name": name, "ok": ok, "tools": tools, "seconds": took, "reason": reason or waiting}

    async def answers(self) -> dict[str, bool]:
        """Ask all that are switched on, at once, whether they answer."""
        enabled = [name for name, server in self._configured.items() if server.enabled]
        answers = await asyncio.gather(*(self._answers(name) for name in enabled))
        return dict(zip(enabled, answers, strict=True))

    async def _answers(self, name: str) -> bool:
        server = self.get(name)
        if server is None:
            return False
        try:
            async with asyncio.timeout(PROBE_S):
                return await server.probe()
        except Exception as error:  # noqa: BLE001 - one bad server never harms the others
            log.warning("server %s does not answer: %s: %s", name, type(error).__name__, error)
            return False

    async def _describe(self, name: str) -> dict[str, Any]:
        server, written = self.get(name), self._configured.get(name, Server())
        known: dict[str, Any] = {"name": name, "state": "off", "reason": "", "tools": None, "heldBack": 0}
        if server is not None:
            await server.refresh()
            known |= {"state": server.state, "reason": server.reason}
            known["tools"] = None if server.state == "configured" else await server.count()
            known["heldBack"] = len(await server.held_back())
        return known | {"where": shown_server(written.url, written.command, written.args)}
