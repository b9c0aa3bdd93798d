"""Server manifests in memory."""

from collections.abc import Callable, Hashable

from onetool.domain.servers.manifest import ServerManifest


class MemoryManifests:
    """Manifests by server name, for the lifetime of the process."""

    def __init__(self) -> None:
        self._manifests: dict[str, ServerManifest] = {}
        self._changes = 0

    def generation(self, server: str) -> Hashable:
        """Return a value that changes with every write."""
        return self._changes

    async def read(self, server: str) -> ServerManifest | None:
        """Return the manifest of a server."""
        return self._manifests.get(server)

    async def change(
        self, server: str, change: Callable[[ServerManifest | None], ServerManifest]
    ) -> ServerManifest:
        """Replace the manifest with what `change` returns."""
        changed = self._manifests[server] = change(self._manifests.get(server))
        self._changes += 1
        return changed

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""
