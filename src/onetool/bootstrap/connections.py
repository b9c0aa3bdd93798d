"""Connections that outlive a reload: kept where nothing has changed, ended in peace where it has."""

import asyncio
from collections.abc import Collection
from typing import NamedTuple

from onetool.network.client import HttpClients
from onetool.settings.configuration import Configuration
from onetool.settings.schema import Server
from onetool.sources.mcp_servers import McpServer
from onetool.threads import Threads

from .stores import Stores

FORMER_CLIENTS = 4
"""How many lists of allowed hosts back a call in flight may have begun and still use its connections."""


class Plan(NamedTuple):
    """Connections for settings that are about to stand."""

    configuration: Configuration
    http: HttpClients
    servers: dict[str, McpServer]
    """In the order of the settings."""


class Connections:
    """The HTTP client and the MCP servers of the settings that stand, and those on their way out."""

    def __init__(self, stores: Stores, threads: Threads) -> None:
        self._stores, self._threads = stores, threads
        self._configuration: Configuration | None = None
        self._clients: list[HttpClients] = []
        self._servers: dict[str, McpServer] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    def plan(self, configuration: Configuration, given: Collection[str]) -> "Plan":
        """Make what these settings want; servers whose names are given come from somebody else.

        Nothing is opened or ended before `take`: what stands must go on if these settings cannot be used.
        """
        former = self._configuration
        hosts = configuration.settings.allowedHosts
        is_same = former is not None and former.settings.allowedHosts == hosts
        http = self._clients[-1] if is_same else HttpClients(hosts)
        wanted = {
            name: server
            for name, server in configuration.settings.servers.items()
            if server.enabled and name not in given
        }
        servers = {name: self._server(name, server, former, configuration) for name, server in wanted.items()}
        return Plan(configuration, http, servers)

    async def take(self, plan: "Plan") -> None:
        """Let this stand from now on; what nobody wants any more ends with its last call."""
        self._configuration = plan.configuration
        if plan.http not in self._clients:
            self._clients.append(plan.http)
        while len(self._clients) > FORMER_CLIENTS:
            await self._clients.pop(0).aclose()
        for name, server in self._servers.items():
            if plan.servers.get(name) is not server:
                leaving = asyncio.create_task(server.leave())
                self._leaving.add(leaving)
                leaving.add_done_callback(self._leaving.discard)
        self._servers = plan.servers

    async def close(self) -> None:
        """End everything, and wait until it is gone."""
        for leaving in self._leaving:
            leaving.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        await asyncio.gather(*(server.close() for server in self._servers.values()))
        for http in self._clients:
            await http.aclose()

    def _server(
        self, name: str, wanted: Server, former: Configuration | None, now: Configuration
    ) -> McpServer:
        """The server that runs already, if it was wanted just so before."""
        from onetool.domain.poisoning import scan

        if (
            name in self._servers
            and former is not None
            and former.settings.servers[name] == wanted
            and former.secrets == now.secrets
            and former.settings.allowedHosts == now.settings.allowedHosts
        ):
            return self._servers[name]
        return McpServer(
            name,
            wanted,
            now.secrets,
            manifest=self._stores.manifests,
            threads=self._threads,
            scan=scan,
            tokens=self._stores.tokens,
            allowed_hosts=now.settings.allowedHosts,
        )
