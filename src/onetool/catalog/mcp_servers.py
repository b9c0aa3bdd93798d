"""Other MCP servers: listing, health checks and connection tests."""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from onetool.domain.health import ServerHealth
from onetool.domain.secrets.detection import redact_server
from onetool.domain.servers.instructions import InstructionsReview
from onetool.domain.servers.manifest import count_kinds
from onetool.domain.servers.server_item import ItemKind
from onetool.domain.text.strings import join_words
from onetool.ports import ServerSource, SourceStatus
from onetool.settings.server_schema import ServerSettings

log = logging.getLogger(__name__)

HEALTH_TIMEOUT_S = 5.0
"""Time for each server to respond to a health check."""
PROBE_TIMEOUT_S = 30.0
"""Time for a server that the user tests."""
UNTIL_STARTED_S = 3_600.0
"""Time that is longer than any start: a start that shows no sign of life ends earlier."""

CONTENTS: Mapping[str, ItemKind] = {"resources": "resource", "templates": "template", "prompts": "prompt"}


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

    async def instructions(self) -> list[tuple[str, str]]:
        """Return the instructions in use of each enabled server that has any, without starting one."""
        reviews = [(name, await server.instructions()) for name, server in self._sources.items()]
        return [(name, review.text) for name, review in reviews if review.text]

    async def details(self, name: str) -> dict[str, Any]:
        """Describe a configured server and its instructions, without starting it."""
        server = self.get(name)
        review = InstructionsReview() if server is None else await server.instructions()
        return await self._describe(name) | {"instructions": asdict(review)}

    async def probe(self, name: str, timeout_s: float = PROBE_TIMEOUT_S) -> dict[str, Any]:
        """Connect to a server, starting it if necessary, and return the outcome.

        A server that has not started in time continues to start; its state is then `starting`.

        Raises:
            KeyError: No server with this name is enabled.
        """
        server, start = self[name], time.monotonic()
        ok = await server.probe(timeout_s)
        duration_s = time.monotonic() - start
        await server.refresh()
        tools = await server.count() if ok else None
        counts = await self.count_contents(name) if ok else dict.fromkeys(CONTENTS)
        quarantined = count_kinds(await server.quarantined())
        status = server.status()
        reason = status.reason or ("" if ok else "it does not respond")
        if not reason:
            review = f"{join_words(quarantined)} quarantined. Review: onetool servers approve {name}"
            reason = "; ".join([*_notes(status), *([review] if quarantined else [])])
        return {
            "name": name,
            "ok": ok,
            "state": server.state,
            "tools": tools,
            **counts,
            "seconds": duration_s,
            "steps": [step._asdict() for step in server.last_start().steps],
            "reason": reason,
        }

    async def count_contents(self, name: str) -> dict[str, int]:
        """Return how many resources, templates and prompts of a server can be read.

        Raises:
            KeyError: No server with this name is enabled.
        """
        contents = self[name].contents
        return {
            plural: sum(not item.reason for item in await contents.items(kind))
            for plural, kind in CONTENTS.items()
        }

    async def check_all(self, timeout_s: float | None) -> dict[str, ServerHealth]:
        """Return the health of each enabled server. All are checked concurrently.

        timeout_s: time for each server to respond; None to report its present state without connecting.
        """
        enabled = [name for name, server in self._configured.items() if server.enabled]
        checks = await asyncio.gather(*(self._check(name, timeout_s) for name in enabled))
        return dict(zip(enabled, checks, strict=True))

    async def _check(self, name: str, timeout_s: float | None) -> ServerHealth:
        server = self.get(name)
        if server is None:
            return ServerHealth("failed", "another source has its name")
        try:
            ok = timeout_s is None or await server.probe(timeout_s)
        except Exception as error:  # noqa: BLE001 - one failing server must not affect the others
            log.warning("server %s does not respond: %s: %s", name, type(error).__name__, error)
            ok = False
        state, status = server.state, server.status()
        notes = status.disabled_tools, status.warnings
        if ok or state == "starting":
            return ServerHealth(state, status.reason, *notes)
        return ServerHealth("failed", status.reason or "it does not respond", *notes)

    async def _describe(self, name: str) -> dict[str, Any]:
        server, settings = self.get(name), self._configured.get(name, ServerSettings())
        description: dict[str, Any] = {
            "name": name,
            "state": "disabled",
            "reason": "",
            "tools": None,
            "quarantined": 0,
            "sandbox": "",
            "canLogIn": False,
        }
        if server is not None:
            await server.refresh()
            status = server.status()
            reason = status.reason or "; ".join(_notes(status))
            description |= {"state": server.state, "reason": reason}
            description["tools"] = None if server.state == "configured" else await server.count()
            description["quarantined"] = len(await server.quarantined())
            description["sandbox"] = await server.restrictions()
            description["canLogIn"] = server.has_login
        return description | {"endpoint": redact_server(settings.url, settings.command, settings.args)}


def _notes(status: SourceStatus) -> list[str]:
    """Return what is wrong with the overrides and the listing of a server."""
    return [*status.disabled_tools, *status.warnings]
