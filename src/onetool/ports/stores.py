"""Where everything else is kept."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Protocol

from onetool.domain.manifest import Manifest
from onetool.domain.paging import Page
from onetool.domain.stored import Stored
from onetool.domain.transcript import Head, Record
from onetool.domain.usage import CallEvent, Counter, Event, Tally


class RateLimiter(Protocol):
    """Counts calls against a rate. Called on the event loop: it must not block."""

    def take(self, key: str, per_minute: int) -> float:
        """Take one call if the rate has room; return 0, or the seconds until it has."""
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


class TokenStore(Protocol):
    """Keeps what logging in to servers has brought, a JSON text each. Called on a thread: it may block."""

    def read(self, server: str) -> str | None:
        """Return what is kept of a server."""
        ...

    def change(self, server: str, change: Callable[[str | None], str | None]) -> str | None:
        """Replace what is kept by what the function makes of it, None for nothing; on return it is durable.

        Nobody else changes it meanwhile, in whichever process: the function may ask a server.
        Raises TimeoutError when somebody else takes too long.
        """
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


class SessionStore(Protocol):
    """Keeps conversations, each as a list of records that only grows. Called on a thread: it may block."""

    def append(self, session: str, records: Sequence[Record]) -> None:
        """Add records to a session, which begins with its first; on return they are durable."""
        ...

    def read(self, session: str) -> Sequence[Record]:
        """Return all records of a session; none where there is none of this name."""
        ...

    def page(self, cursor: str | None, limit: int) -> Page[Head]:
        """Return sessions from an opaque cursor on, the one that was last added to first."""
        ...

    def delete(self, session: str) -> bool:
        """Remove a session for good; return whether it was there."""
        ...

    def reap(self, before: float, but: str | None = None) -> int:
        """Remove sessions that nothing was added to since this moment, but one; return how many."""
        ...
