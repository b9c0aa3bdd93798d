"""MCP servers that several runtimes of one process use together: one program for each server."""

from collections.abc import Callable

from onetool.domain.secrets.secret import Secret
from onetool.settings.server_schema import ServerSettings
from onetool.sources.mcp_servers import McpServerSource

UsedSecrets = dict[str, Secret | str]
"""Secrets by name, or why one is not available."""
ServerKey = tuple[str, ServerSettings, UsedSecrets, tuple[str, ...]]
"""What a server depends on: its name and settings without overrides, its secrets, and the allowed hosts."""


class SharedServers:
    """Finds servers by what they depend on. The last runtime that leaves a server closes it."""

    def __init__(self) -> None:
        self._servers: list[tuple[ServerKey, McpServerSource]] = []
        self._users: dict[McpServerSource, int] = {}

    def find(self, key: ServerKey, create: Callable[[], McpServerSource]) -> McpServerSource:
        """Return a server in use with an equal key, or a new one."""
        in_use = (source for other, source in self._servers if other == key)
        return next(in_use, None) or create()

    def join(self, key: ServerKey, source: McpServerSource) -> None:
        """Start to use a server."""
        if source not in self._users:
            self._servers.append((key, source))
        self._users[source] = self._users.get(source, 0) + 1

    def leave(self, source: McpServerSource) -> bool:
        """Stop using a server. Return whether nothing uses it any more, so that it has to be closed."""
        self._users[source] -= 1
        if self._users[source]:
            return False
        del self._users[source]
        self._servers = [entry for entry in self._servers if entry[1] is not source]
        return True
