"""Connections that survive a reload: reused if their settings are unchanged, otherwise closed when idle."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from onetool.domain.http.placeholders import MalformedTemplate, placeholder_names
from onetool.domain.identity.member_pages import NO_PAGES, MemberPages
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.network.client import HttpClients
from onetool.sdk.http import check_request
from onetool.settings.configuration import Configuration
from onetool.settings.secrets import Secrets
from onetool.settings.server_schema import ServerSettings
from onetool.sources.mcp_servers import AttachServer, McpServerSource
from onetool.threads import Threads

from .shared_servers import ServerKey, SharedServers, UsedSecrets
from .stores import Stores

MAX_CLIENTS = 4
"""How many HTTP clients stay open: the current one, and those of earlier reloads for calls in progress."""

SERVER_HOMES = "server_homes"
"""Directory in `state` with a directory for each server: its home, with caches and downloaded packages."""


class ConnectionPlan(NamedTuple):
    """The connections of a configuration that is about to become active."""

    configuration: Configuration
    http: HttpClients
    servers: dict[str, McpServerSource]
    """By name, in the order of the settings."""


class Connections:
    """The HTTP client and the MCP servers of the active configuration, and those that are closing."""

    def __init__(
        self,
        stores: Stores,
        threads: Threads,
        credentials: CredentialSet,
        *,
        shared: SharedServers,
        attach: AttachServer | None,
        waits_for_servers: bool,
        asks_users: bool,
        pages: MemberPages = NO_PAGES,
    ) -> None:
        """pages: where members log in to servers."""
        self._pages = pages
        self._stores, self._threads, self._credentials = stores, threads, credentials
        self._shared, self._attach = shared, attach
        self._waits_for_servers, self._asks_users = waits_for_servers, asks_users
        self._configuration: Configuration | None = None
        self._clients: list[HttpClients] = []
        self._servers: dict[str, McpServerSource] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def plan(self, configuration: Configuration, excluded: Collection[str]) -> "ConnectionPlan":
        """Create the connections of a configuration, except for servers with an excluded name.

        Opens and closes nothing, so the active connections are unaffected if the configuration turns out
        to be unusable. `apply` makes the plan active.
        """
        active = self._configuration
        hosts = configuration.settings.allowedHosts
        is_same = active is not None and active.settings.allowedHosts == hosts
        http = self._clients[-1] if is_same else HttpClients(hosts, check_request)
        servers = {
            name: self._server(name, active, configuration)
            for name, settings in configuration.settings.servers.items()
            if settings.enabled and name not in excluded
        }
        return ConnectionPlan(configuration, http, servers)

    async def apply(self, plan: "ConnectionPlan") -> None:
        """Make a plan active. Servers that it does not contain close when their last call has finished."""
        self._configuration = plan.configuration
        if plan.http not in self._clients:
            self._clients.append(plan.http)
        while len(self._clients) > MAX_CLIENTS:
            await self._clients.pop(0).aclose()
        for name, server in plan.servers.items():
            if self._servers.get(name) is not server:
                self._shared.join(_key(name, plan.configuration), server)
        for name, server in self._servers.items():
            if plan.servers.get(name) is not server and self._shared.leave(server):
                task = asyncio.create_task(server.close_when_idle())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
        self._servers = plan.servers

    async def close(self) -> None:
        """Close all connections and wait until they are closed."""
        for task in self._closing:
            task.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)
        unused = [server for server in self._servers.values() if self._shared.leave(server)]
        await asyncio.gather(*(server.close() for server in unused))
        for http in self._clients:
            await http.aclose()

    def _server(self, name: str, active: Configuration | None, new: Configuration) -> McpServerSource:
        """Return the active server if nothing it depends on has changed, otherwise another one."""
        if name in self._servers and active is not None and _key(name, active) == _key(name, new):
            return self._servers[name]
        return self._shared.find(_key(name, new), lambda: self._create(name, new))

    def _create(self, name: str, new: Configuration) -> McpServerSource:
        from onetool.domain.injection.scanner import scan

        return McpServerSource(
            name,
            _settings(name, new),
            new.secrets,
            manifest=self._stores.manifests,
            threads=self._threads,
            home=new.paths.state / SERVER_HOMES / name,
            protected=new.paths.protected,
            is_patient=self._waits_for_servers,
            asks_users=self._asks_users,
            attach=self._attach,
            scan=scan,
            tokens=self._stores.tokens,
            member_tokens=self._stores.member_tokens,
            login_page=self._pages.login(name),
            allowed_hosts=new.settings.allowedHosts,
            credentials=self._credentials,
        )


def _key(name: str, configuration: Configuration) -> ServerKey:
    server = replace(_settings(name, configuration), tools={})  # each state overrides tools on its own
    hosts = tuple(configuration.settings.allowedHosts)
    return name, server, _used_secrets(server, configuration.secrets), hosts


def _used_secrets(server: ServerSettings, secrets: Secrets) -> UsedSecrets:
    """Return the secrets that a server is started with: to change another one does not concern its calls."""
    try:
        names = set(placeholder_names([*server.env.values(), *server.headers.values()]))
    except MalformedTemplate:  # it cannot be started, whatever the secrets are
        names = set()
    return {name: secrets.get(name) or secrets.unavailable.get(name, "") for name in names}


def _settings(name: str, configuration: Configuration) -> ServerSettings:
    """Return the settings of a server with the limits that apply to all servers."""
    settings = configuration.settings
    limits = settings.execution
    return settings.servers[name].with_defaults(limits.max_message_bytes, limits.max_message_values)
