"""Every outside thing that the core needs, as a Protocol."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Protocol

from onetool.domain.bundle import Bundle, Filter, Listed, Pair, ToolVersion
from onetool.domain.manifest import Manifest
from onetool.domain.paging import Page
from onetool.domain.sandbox import Outcome, SandboxJob
from onetool.domain.stored import Stored
from onetool.domain.tool import Tool
from onetool.domain.usage import CallEvent, Counter, Event, Tally


class ToolSource(Protocol):
    """Somewhere that tools come from. It is asked for a tool by name, never for everything."""

    @property
    def name(self) -> str:
        """How logs and health call this source."""
        ...

    def generation(self) -> Hashable:
        """A value that moves when the tools may have changed; cheap enough to ask before every call."""
        ...

    async def refresh(self) -> None:
        """Read again what `generation` said has moved; calls in flight keep the tools they have."""
        ...

    async def find(self, name: str, version: str | None = None) -> Tool | None:
        """Return the tool of this name, in this version or the active one; None where there is none."""
        ...

    async def page(self, cursor: str | None, limit: int) -> Page[Tool]:
        """Return up to `limit` tools from an opaque cursor on, in an order that stays."""
        ...

    async def packs(self) -> Collection[str]:
        """Return the names of all packs."""
        ...

    async def pack(self, name: str) -> Sequence[Tool]:
        """Return the tools of one pack."""
        ...

    async def count(self) -> int:
        """Return how many tools there are."""
        ...


class ServerSource(ToolSource, Protocol):
    """Another MCP server whose tools are offered here as a pack of its name."""

    is_remote: bool
    """True: asking may mean waiting for it to start."""

    async def probe(self) -> bool:
        """Connect if need be; return whether the server answers."""
        ...


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


class RateLimiter(Protocol):
    """Counts calls against a rate. Called on the event loop: it must not block."""

    def take(self, key: str, per_minute: int) -> float:
        """Take one call if the rate has room; return 0, or the seconds until it has."""
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


class ManifestStore(Protocol):
    """Remembers what servers have listed. Called on a thread: it may block."""

    def generation(self, server: str) -> Hashable:
        """A value that moves with every change; cheap enough to ask before every call."""
        ...

    def read(self, server: str) -> Manifest | None:
        """Return what is known of a server."""
        ...

    def change(self, server: str, change: Callable[[Manifest | None], Manifest]) -> Manifest:
        """Replace what is known by what the function makes of it; on return it is durable."""
        ...


class UsageStore(Protocol):
    """Remembers finished calls. Called on a thread: it may block."""

    def add(self, events: Sequence[Event]) -> None:
        """Keep these events; on return they are durable."""
        ...

    def tally(self, since: float | None) -> Tally:
        """Add up all events from this moment on, or all."""
        ...


class CounterStore(Protocol):
    """Counts the calls of each tool, for good. Called on a thread: it may block."""

    def add(self, events: Sequence[CallEvent]) -> None:
        """Count these calls; on return they are durable."""
        ...

    def find(self, tool_ids: Collection[str]) -> Mapping[str, Counter]:
        """Return the counters of those tools that were ever called."""
        ...


class Sandbox(Protocol):
    """Runs code that a model wrote, where it can do nothing but call tools."""

    async def run(self, job: SandboxJob) -> Outcome:
        """Run the code to its end; cancelling the wait ends it at once."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...


class ResultStore(Protocol):
    """Keeps large outputs for a while. Called on a thread: it may block."""

    def put(self, text: str, tool: str) -> Stored:
        """Keep a text; on return it is durable."""
        ...

    def find(self, handle: str) -> Stored | None:
        """Return what is known of a handle, also after its text has expired; None if it never was."""
        ...

    def text(self, handle: str) -> str | None:
        """Return the text, or None when it has expired or never was."""
        ...
