"""Where stored tools are kept, and what was switched off."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol

from onetool.domain.bundle import Bundle, Filter, Listed, Pair, ToolVersion
from onetool.domain.paging import Page


class BundleStore(Protocol):
    """Keeps bundles and versions of tools. Called on a thread: it may block.

    A function that is given to a method decides on what it is shown, and nobody else changes that meanwhile;
    what it raises is raised. On return everything is durable. Nothing here returns all there is.
    """

    @property
    def problems(self) -> Sequence[str]:
        """What was found damaged and set aside."""
        ...

    def generation(self) -> Hashable:
        """A value that moves with every change; cheap enough to ask before every call."""
        ...

    def change_bundle(self, bundle_id: str, change: Callable[[Bundle | None], Bundle]) -> Bundle:
        """Create or replace a bundle by what the function makes of it."""
        ...

    def bundle(self, bundle_id: str) -> Bundle | None:
        """Return a bundle, a deleted one too."""
        ...

    def bundles(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Bundle]:
        """Return bundles from an opaque cursor on."""
        ...

    def add_tool(self, tool: ToolVersion, check: Callable[[Bundle | None], None]) -> Listed:
        """Keep a new version, if the check of its bundle lets it pass.

        Raises Taken when its slug and version are there already: the store's promise, over all processes.
        """
        ...

    def import_bundle(self, bundle: Bundle, tools: Sequence[ToolVersion]) -> None:
        """Keep a bundle with all its tools, or nothing.

        Raises Taken when the bundle is there and not deleted, or when a tool's id or pair is another's.
        """
        ...

    def change_tool(
        self, pair: Pair, change: Callable[[Bundle | None, ToolVersion | None], ToolVersion]
    ) -> Listed:
        """Replace a version by what the function makes of it."""
        ...

    def delete_tool(self, pair: Pair) -> bool:
        """Remove a version for good; return whether it was there."""
        ...

    def tool(self, pair: Pair) -> Listed | None:
        """Return a version, also from a bundle that is deleted."""
        ...

    def find(self, name: str) -> Sequence[Listed]:
        """Return all versions of the tool that code calls by this name, the newest first."""
        ...

    def tools(self, wanted: Filter, cursor: str | None, limit: int) -> Page[Listed]:
        """Return versions from an opaque cursor on."""
        ...

    def packs(self) -> Sequence[str]:
        """Return the names by which code calls the bundles that hold a tool."""
        ...

    def pack(self, name: str) -> Sequence[Listed]:
        """Return the active versions of one bundle, by the name that code calls it."""
        ...

    def matching(self, query: str, wanted: Filter, limit: int) -> Sequence[Listed]:
        """Return versions that may be meant, in no order: whoever asks ranks them.

        Up to `limit` that begin so, as many that have the words, as many that look like it.
        """
        ...

    def count(self) -> int:
        """Return how many versions there are."""
        ...

    def reap(self, before: str) -> Sequence[str]:
        """Remove bundles that were deleted before this moment and hold no tool; return their ids."""
        ...


class SwitchStore(Protocol):
    """Remembers what was switched off, or on again, of things that are not stored here. It may block."""

    def generation(self) -> Hashable:
        """A value that moves with every change; cheap enough to ask before every call."""
        ...

    def read(self) -> Mapping[str, bool]:
        """Return every switch that was ever touched, by the id of what it switches."""
        ...

    def set(self, id: str, is_enabled: bool) -> None:
        """Set a switch; on return it is durable."""
        ...
