"""What small sources share: all their tools in memory, replaced whole when they have moved."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Protocol

from onetool.domain.paging import Page
from onetool.domain.registry import Registry
from onetool.domain.tool import CURRENT, Tool


class Reader(Protocol):
    """Where a snapshot is taken of."""

    @property
    def name(self) -> str:
        """How logs and health call it."""
        ...

    def generation(self) -> Hashable:
        """A cheap value that moves when `read` would answer otherwise."""
        ...

    async def read(self) -> Registry:
        """Return all tools as they are now."""
        ...


class Snapshot:
    """A ToolSource that answers from a Registry."""

    def __init__(self, reader: Reader, *, is_spare: bool = False) -> None:
        self._reader = reader
        self.is_spare = is_spare
        """True: its packs give way to others of the same names."""
        self._registry = Registry()
        self.name = reader.name
        self.generation = reader.generation

    @property
    def left_out(self) -> Mapping[str, str]:
        """What could not become a pack, and why."""
        return self._registry.left_out

    async def refresh(self) -> None:
        """Read everything again; whoever has found a tool keeps it."""
        self._registry = await self._reader.read()

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool of this name; there is one version of each."""
        return self._registry.get(name) if version in (None, CURRENT) else None

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return tools in the order of their registration."""
        start = int(cursor or 0)
        follows = start + limit
        return Page(
            self._registry.slice(start, follows), str(follows) if follows < len(self._registry) else None
        )

    async def packs(self) -> Collection[str]:
        """Return the names of all packs."""
        return self._registry.packs()

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        return self._registry.packs().get(name, ())

    async def count(self) -> int:
        """Return how many tools there are."""
        return len(self._registry)


class Fixed:
    """Tools that stay as they are for the life of the process."""

    def __init__(self, name: str, registry: Registry) -> None:
        self.name = name
        self._registry = registry

    def generation(self) -> Hashable:
        """Never moves."""
        return 0

    async def read(self) -> Registry:
        """Return the same tools every time."""
        return self._registry
