"""Ports of stored bundles, and of the enabled flags of tools that are stored elsewhere."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Protocol

from onetool.domain.bundles.bundle import Bundle, BundleFilter, StoredTool, ToolKey, ToolVersion
from onetool.domain.bundles.ranking import SearchHit, SearchPosition, SearchQuery
from onetool.domain.page import Page

from .search import ToolSearch


class BundleStore(ToolSearch, Protocol):
    """Stores bundles and the versions of their tools.

    No method blocks the event loop. Several tasks and processes may use one store at a time. A change is
    atomic, and durable when the method returns. Every method may raise StoreUnavailable or another OSError.

    A callback receives the current records and decides about the change. The store holds the bundle locked
    meanwhile. It may call the callback more than once, so the callback must have no side effects. If the
    callback raises, nothing changes and the exception propagates.
    """

    @property
    def problems(self) -> Sequence[str]:
        """Messages about corrupt files that were moved, and about bundles that cannot be indexed."""
        ...

    def generation(self) -> Hashable:
        """Return a value that changes with every write of any process.

        It is compared before every call, so it must be cheap: a value in memory or one stat.
        """
        ...

    async def change_bundle(self, bundle_id: str, change: Callable[[Bundle | None], Bundle]) -> Bundle:
        """Create a bundle or replace it with what `change` returns. Deleting sets `soft_deleted_at`."""
        ...

    async def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle, even if it is marked as deleted."""
        ...

    async def bundles(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return up to `limit` bundles after an opaque cursor, in a stable order."""
        ...

    async def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> StoredTool:
        """Store a new tool version, unless `check` raises for its bundle.

        Raises:
            AlreadyExists: The slug and version exist in this bundle, no matter which process added them.
        """
        ...

    async def import_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        """Store a bundle with all its tools, or nothing.

        Raises:
            AlreadyExists: The bundle exists and is not deleted, or the id or key of a tool exists.
        """
        ...

    async def change_tool(
        self, key: ToolKey, change: Callable[[Bundle | None, ToolVersion | None], ToolVersion]
    ) -> StoredTool:
        """Replace a tool version with what `change` returns for the bundle and the version."""
        ...

    async def delete_tool(self, key: ToolKey) -> bool:
        """Delete a tool version permanently. Return False if there is none."""
        ...

    async def tool(self, key: ToolKey) -> StoredTool | None:
        """Return a tool version, even if its bundle is marked as deleted."""
        ...

    async def find(self, name: str) -> Sequence[StoredTool]:
        """Return all versions of the tool with this name in code (`pack.function`), newest first."""
        ...

    async def tools(self, filter: BundleFilter, cursor: str | None, limit: int) -> Page[StoredTool]:
        """Return up to `limit` tool versions after an opaque cursor, in a stable order."""
        ...

    async def packs(self) -> Sequence[str]:
        """Return the names in code of the bundles that contain a tool."""
        ...

    async def pack(self, name: str) -> Sequence[StoredTool]:
        """Return the active version of each tool in the bundle with this name in code."""
        ...

    async def named(self, names: Collection[str]) -> Sequence[StoredTool]:
        """Return the active versions of those tools that exist, by their names in code, in any order."""
        ...

    async def search(
        self, query: SearchQuery, filter: BundleFilter, after: SearchPosition | None, limit: int
    ) -> Sequence[SearchHit]:
        """Return the first `limit` tools that match a query, or that come after a position, best first.

        Every match of the tiers `PREFIX`, `WORD` and `SIMILAR` is reached by asking again after the last one.
        """
        ...

    async def count(self) -> int:
        """Return the number of tool versions."""
        ...

    async def reap(self, before: str) -> Sequence[str]:
        """Remove empty bundles that were marked as deleted before this time. Return their ids.

        before: an RFC 3339 timestamp.
        """
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...


class ToggleStore(Protocol):
    """Stores the enabled flags of packs and tools that are not stored as bundles.

    No method blocks the event loop.
    """

    def generation(self) -> Hashable:
        """Return a value that changes with every write of any process. Costs at most one stat."""
        ...

    async def read(self) -> Mapping[str, bool]:
        """Return every flag that was ever set, by the id of the bundle or tool.

        Raises:
            ValueError: The stored flags are corrupt. Ignoring them would enable what the user disabled.
        """
        ...

    async def set(self, id: str, is_enabled: bool) -> None:
        """Set a flag, atomically across processes. Durable on return."""
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...
