"""What servers have listed, kept for the life of the process."""

import threading
from collections.abc import Callable, Hashable

from onetool.domain.manifest import Manifest


class MemoryManifests:
    """Manifests by the names of their servers."""

    def __init__(self) -> None:
        self._manifests: dict[str, Manifest] = {}
        self._changes = 0
        self._lock = threading.Lock()

    def generation(self, server: str) -> Hashable:
        """Moves with every change."""
        return self._changes

    def read(self, server: str) -> Manifest | None:
        """Return what is known of a server."""
        return self._manifests.get(server)

    def change(self, server: str, change: Callable[[Manifest | None], Manifest]) -> Manifest:
        """Replace what is known by what the function makes of it."""
        with self._lock:
            changed = self._manifests[server] = change(self._manifests.get(server))
            self._changes += 1
        return changed
