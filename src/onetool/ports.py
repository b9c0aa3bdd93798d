"""Every outside thing that the core needs, as a Protocol."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Protocol

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

    async def count(self) -> int:
        """Return how many tools there are."""
        ...


class ServerSource(ToolSource, Protocol):
    """Another MCP server whose tools are offered here as a pack of its name."""

    async def probe(self) -> bool:
        """Connect if need be; return whether the server answers."""
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
