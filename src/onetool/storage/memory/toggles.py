"""Enabled flags of tools in memory."""

from collections.abc import Hashable, Mapping


class MemoryToggles:
    """Flags by id, for the lifetime of the process."""

    def __init__(self) -> None:
        self._flags: dict[str, bool] = {}
        self._generation = 0

    def generation(self) -> Hashable:
        """Return a value that changes with every write."""
        return self._generation

    async def read(self) -> Mapping[str, bool]:
        """Return every flag that was ever set."""
        return dict(self._flags)

    async def set(self, id: str, is_enabled: bool) -> None:
        """Set a flag."""
        self._flags[id] = is_enabled
        self._generation += 1

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""
