"""Resources, templates and prompts of all MCP servers, with names that tell the servers apart."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onetool.domain.calls.caller import Caller
from onetool.domain.content.resources import PromptContent, ResourceContent
from onetool.domain.errors import ContentNotFound
from onetool.domain.policy.policy import Policy
from onetool.domain.servers.catalog_item import CatalogItem
from onetool.domain.servers.server_item import KEYS, ItemKind
from onetool.domain.servers.uris import namespaced_fields, split_uri
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.tools.wire_names import wire_names
from onetool.ports import ServerSource


class CatalogContents:
    """Lists, reads and completes what the servers offer besides tools."""

    def __init__(self, servers: Mapping[str, ServerSource], policy: Policy) -> None:
        self._servers, self._policy = servers, policy

    async def items(
        self, kind: ItemKind, caller: Caller, server: str | None = None, *, start_servers: bool = True
    ) -> list[CatalogItem]:
        """Return the items that a caller may read, in the order of the servers. Quarantined ones are omitted.

        A server that does not respond in time is omitted; health names it.

        start_servers: start servers whose items are unknown; otherwise omit those items.
        """
        names = [name for name in self._servers if server in (None, name) and self._may_read(name, caller)]
        lists = await asyncio.gather(*(self._listed(name, kind, start_servers) for name in names))
        found = [item for listed in lists for item in listed]
        if kind != "prompt":
            return found
        wires = wire_names([item.path for item in found])
        return [item._replace(name=wires[item.path]) for item in found]

    async def read(self, uri: str, caller: Caller, deadline: float) -> ResourceContent:
        """Read a resource by its namespaced URI.

        Raises:
            ContentNotFound: It does not exist, or the caller may not read it.
            ExecutionError: The server is unavailable, or the resource is quarantined.
        """
        server, own_uri = self._locate(uri, caller)
        return await self._servers[server].contents.read(own_uri, caller, deadline)

    async def prompt(
        self, name: str, args: Mapping[str, str], caller: Caller, deadline: float
    ) -> PromptContent:
        """Return the messages of a prompt, by its name in a list or as `server.prompt`.

        Raises:
            ContentNotFound: It does not exist, or the caller may not read it.
            ExecutionError: The server is unavailable, or the prompt or its text is quarantined.
        """
        found = await self.find_prompt(name, caller)
        return await self._servers[found.server].contents.prompt(found.item.key, args, caller, deadline)

    async def find_prompt(self, name: str, caller: Caller) -> CatalogItem:
        """Return a prompt by its name in a list or as `server.prompt`.

        Raises:
            ContentNotFound: It does not exist or is quarantined, or the caller may not read it.
        """
        prompts = await self.items("prompt", caller)
        for prompt in prompts:
            if name in (prompt.name, prompt.path):
                return prompt
        suggestion = did_you_mean(name, [prompt.path for prompt in prompts])
        raise ContentNotFound(f"Prompt not found: {name!r}.{suggestion}")

    async def complete(self, params: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        """Return the result of `completion/complete` for a prompt or a template with namespaced names.

        Raises:
            ContentNotFound: The prompt does not exist, or the URI names no server.
        """
        ref = params["ref"]
        if ref.get("type") == "ref/prompt":
            found = await self.find_prompt(ref.get("name", ""), caller)
            server, own = found.server, {**ref, "name": found.item.key}
        else:
            server, uri = self._locate(ref.get("uri", ""), caller)
            own = {**ref, "uri": uri}
        return await self._servers[server].contents.complete({**params, "ref": own})

    async def subscribe(self, uri: str, listener: Callable[[str], None], caller: Caller) -> None:
        """Call a listener with the server's own URI whenever a resource was updated.

        Raises:
            ContentNotFound: The URI names no server, or the caller may not read it.
            ExecutionError: The server is unavailable or refuses, or the resource is quarantined.
        """
        server, own_uri = self._locate(uri, caller)
        await self._servers[server].contents.subscribe(own_uri, listener)

    async def set_log_level(self, level: str, server: str | None = None) -> None:
        """Tell running servers, or one of them, what to log."""
        names = [name for name in self._servers if server in (None, name)]
        await asyncio.gather(*(self._servers[name].contents.set_log_level(level) for name in names))

    def _locate(self, uri: str, caller: Caller) -> tuple[str, str]:
        found = split_uri(uri, self._servers)
        if found is None or not self._may_read(found[0], caller):
            hint = "" if found else " URIs begin with ot.SERVER+: ot.resources() lists them."
            raise ContentNotFound(f"Resource not found: {uri!r}.{hint}")
        return found

    def _may_read(self, server: str, caller: Caller) -> bool:
        """Whether a caller may read what a server offers besides tools."""
        return self._policy.contents_rule(server, caller) is None

    async def _listed(self, server: str, kind: ItemKind, start: bool) -> Sequence[CatalogItem]:
        found = []
        for item, name, reason in await self._servers[server].contents.items(kind, start=start):
            if not reason:
                fields = namespaced_fields(item.definition, server)
                found.append(
                    CatalogItem(server, item, fields[KEYS[kind]], f"{server}.{name}" if name else "")
                )
        return found
