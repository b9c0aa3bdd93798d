"""Mixed traffic on several workspaces, drawn from a seed."""

import asyncio
import random
from collections.abc import Awaitable
from typing import Any, Protocol

from chaos.client import ChaosClient, Reply
from chaos.installation import ChaosInstallation, Place
from chaos.ledger import OK, Ledger
from chaos.users import BUNDLE, ChatUser, JobUser, LoginUser, McpCaller, ModernMcpCaller, RestCaller
from chaos.writers import Racer, Races, SettingsWriter, Writer
from support.rest_process import http_tool, new_id

PACE_S = (0.1, 0.5)
"""How long each client waits between two requests."""
KINDS = (RestCaller, RestCaller, McpCaller, ModernMcpCaller, ChatUser, JobUser, Writer)
RACERS = 3


class Repeated(Protocol):
    """Work that is repeated."""

    async def step(self) -> None:
        """Do it once."""
        ...


class Workload:
    """The clients of all workspaces."""

    def __init__(self, installation: ChaosInstallation, ledger: Ledger, seed: object) -> None:
        self.installation, self.ledger, self.seed = installation, ledger, seed
        self._is_over = asyncio.Event()
        self._clients: list[ChaosClient] = []
        self._mcp_callers: list[McpCaller] = []

    async def prepare(self) -> None:
        """Create the tools that clients call, and make each process open each workspace."""
        for place in self.installation.places:
            self.ledger.canaries[place.slug] = place.canary
            client = self.client(place, "prepare")
            bundle = new_id()
            body = {"slug": BUNDLE, "displayName": "B", "description": place.canary, "isEnabled": True}
            await _must(client.request("prepare", "PUT", f"/tools/bundles/{bundle}", json=body))
            for slug, tool in self._tools(place).items():
                path = f"/tools/bundles/{bundle}/tools/{slug}/version/v1"
                await _must(client.request("prepare", "PUT", path, json=tool))
            for server in self.installation.servers:
                call = {"name": f"{BUNDLE}.get", "args": {}}
                await _must(client.request("prepare", "POST", "/tools/call", json=call, server=server))
                command = {"command": "up.note(id='prepare')"}
                await _must(client.request("prepare", "POST", "/run", json=command, server=server))

    def client(self, place: Place, name: str) -> ChaosClient:
        """Return a new client, whose random numbers depend on the seed and its name."""
        rng = random.Random(f"{self.seed}/{self.installation.places.index(place)}/{name}")
        client = ChaosClient(place, self.installation.servers, self.ledger, rng)
        self._clients.append(client)
        return client

    async def run(self) -> None:
        """Make requests until `stop` is called."""
        async with asyncio.TaskGroup() as group:
            for number, user in enumerate(self._users()):
                group.create_task(self._repeat(user, number))

    def _users(self) -> list[Repeated]:
        users: list[Repeated] = [SettingsWriter(self.installation, self.ledger)]
        for place in self.installation.places:
            users += [kind(self.client(place, f"{number}")) for number, kind in enumerate(KINDS)]
            races = Races()
            for number in range(RACERS):
                racer = Racer(self.client(place, f"racer {number}"))
                racer.races = races
                users.append(racer)
        login = LoginUser(self.client(self.installation.places[0], "login"))
        login.issuer = self.installation.issuer
        self._mcp_callers = [user for user in users if isinstance(user, McpCaller)]
        return [*users, login]

    def stop(self) -> None:
        """Let each client end after its request."""
        self._is_over.set()

    async def end_sessions(self) -> None:
        """End the sessions of all MCP clients."""
        await asyncio.gather(*(user.end_sessions() for user in self._mcp_callers))

    async def close(self) -> None:
        """Close the connections of all clients."""
        for client in self._clients:
            await client.close()

    async def _repeat(self, user: Repeated, number: int) -> None:
        rng = random.Random(f"{self.seed}/pace/{number}")
        while not self._is_over.is_set():
            await user.step()
            await asyncio.sleep(rng.uniform(*PACE_S))

    def _tools(self, place: Place) -> dict[str, dict[str, Any]]:
        url = self.installation.upstream.url
        post = {"method": "POST", "headers": {"X-Key": "${CANARY}"}, "body": {"id": "${id}"}}
        record = http_tool(f"{url}/record/{place.canary}", "id", request=post)
        return {"rec": record | {"description": place.canary}, "get": http_tool(f"{url}/read/{place.canary}")}


async def _must(reply: Awaitable[Reply]) -> None:
    found = await reply
    if found.outcome != OK:
        raise RuntimeError(f"cannot prepare: {found}")
