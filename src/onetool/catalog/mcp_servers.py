"""Other MCP servers: listing, health checks and connection tests."""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onetool.domain.secrets.detection import redact_server
from onetool.domain.text.strings import pluralize
from onetool.ports import ServerSource
from onetool.settings.schema import ServerSettings

log = logging.getLogger(__name__)

HEALTH_TIMEOUT_S = 5.0
"""Time for each server to respond to a health check."""
PROBE_TIMEOUT_S = 30.0
"""Time for a server that the user tests. The first start may download it."""


class McpServers(Mapping[str, ServerSource]):
    """The enabled servers by name. Disabled servers appear only in `describe`."""

    def __init__(self, sources: Iterable[ServerSource], configured: Mapping[str, ServerSettings]) -> None:
        self._sources = {source.name: source for source in sources}
        self._configured = configured

    def __getitem__(self, name: str) -> ServerSource:
        return self._sources[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    async def describe(self) -> list[dict[str, Any]]:
        """Describe all configured servers, without starting any."""
        names = dict.fromkeys([*self._configured, *self._sources])
        return [await self._describe(name) for name in names]

    async def probe(self, name: str) -> dict[str, Any]:
        """Connect to a server, starting it if necessary, and return the outcome.

        Raises:
            KeyError: No server with this name is enabled.
        """
        server, start = self[name], time.monotonic()
        ok = await server.probe(PROBE_TIMEOUT_S)
        duration_s = time.monotonic() - start
        await server.refresh()
        tools = await server.count() if ok else None
        quarantined = len(await server.quarantined())
        reason = server.status().reason or ("" if ok else "it does not respond")
        if not reason and quarantined:
            reason = f"{pluralize(quarantined, 'tool')} quarantined. Review: onetool servers approve {name}"
        return {"name": name, "ok": ok, "tools": tools, "seconds": duration_s, "reason": reason}

    async def check_all(self) -> dict[str, bool]:
        """Return whether each enabled server responds. All are checked concurrently."""
        enabled = [name for name, server in self._configured.items() if server.enabled]
        responses = await asyncio.gather(*(self._responds(name) for name in enabled))
        return dict(zip(enabled, responses, strict=True))

    async def _responds(self, name: str) -> bool:
        server = self.get(name)
        if server is None:
            return False
        try:
            async with asyncio.timeout(HEALTH_TIMEOUT_S):
                return await server.probe()
        except Exception as error:  # noqa: BLE001 - one failing server must not affect the others
            log.warning("server %s does not respond: %s: %s", name, type(error).__name__, error)
            return False

    async def _describe(self, name: str) -> dict[str, Any]:
        server, settings = self.get(name), self._configured.get(name, ServerSettings())
        description: dict[str, Any] = {
            "name": name,
            "state": "disabled",
            "reason": "",
            "tools": None,
            "quarantined": 0,
        }
        if server is not None:
            await server.refresh()
            description |= {"state": server.state, "reason": server.status().reason}
            description["tools"] = None if server.state == "configured" else await server.count()
            description["quarantined"] = len(await server.quarantined())
        return description | {"endpoint": redact_server(settings.url, settings.command, settings.args)}
