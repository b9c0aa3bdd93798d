"""Ports of the stores: rate limits, server manifests, tokens, results, sessions.

No method blocks the event loop: an adapter with a blocking driver moves its work to threads. Several tasks
and processes may use one store at a time. A write is atomic, and durable when the method returns. Every
method may raise StoreUnavailable or another OSError.
"""

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from onetool.domain.chat.transcript import Record, SessionSummary
from onetool.domain.content.media import Media
from onetool.domain.page import Page
from onetool.domain.results.stored_result import DEFAULT_TTL_S, StoredResult
from onetool.domain.servers.manifest import ServerManifest


class RateLimiter(Protocol):
    """Limits the rate of calls."""

    async def take(self, key: str, per_minute: int) -> float:
        """Count one call and return 0 if the rate permits it; otherwise return the seconds to wait.

        Bursts are those of `burst_of`.
        """
        ...


class CallLeases(Protocol):
    """Counts calls in progress across all replicas."""

    async def take(self, key: str, size: int) -> bool:
        """Take a lease if fewer than `size` are taken, or if they cannot be counted now."""
        ...

    def give_back(self, key: str) -> None:
        """Give one of the leases of this process back, soon."""
        ...


class ManifestStore(Protocol):
    """Stores the last listing of each MCP server, so that its tools are known before it starts."""

    def generation(self, server: str) -> Hashable:
        """Return a value that changes with every write of any process.

        It is compared before every call, on the event loop: a value in memory or one stat.
        """
        ...

    async def read(self, server: str) -> ServerManifest | None:
        """Return the manifest of a server, or None if it was never listed."""
        ...

    async def change(
        self, server: str, change: Callable[[ServerManifest | None], ServerManifest]
    ) -> ServerManifest:
        """Replace a manifest with what `change` returns, under a lock that all processes respect."""
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...


class TokenStore(Protocol):
    """Stores OAuth tokens, for each server or HTTP tool as one JSON text. Only the owner may read it."""

    async def read(self, server: str) -> str | None:
        """Return the stored text of a server, or None."""
        ...

    def exclusive(self, server: str) -> AbstractAsyncContextManager["LockedTokens"]:
        """Lock the text of a server against all other processes for the block.

        The tokens may be refreshed over the network meanwhile.

        Raises:
            StoreUnavailable: Another process holds the lock for too long.
        """
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...


class MemberTokens(Protocol):
    """Stores OAuth tokens of logins to servers, for each member of a workspace."""

    def generation(self) -> Hashable:
        """Return a value that changes when any process logs a member in or out."""
        ...

    def of(self, owner: str) -> TokenStore:
        """Return the tokens of a member, by the id of its principal; empty: those of the workspace."""
        ...


class LockedTokens(Protocol):
    """The stored text of one server, which no other process can change."""

    @property
    def text(self) -> str | None:
        """The stored text, or None."""
        ...

    async def replace(self, text: str | None, *, is_refresh: bool = False) -> None:
        """Replace the stored text; None deletes it.

        is_refresh: whether no one has logged in or out, and the tokens only had to be renewed.
        """
        ...


class ResultStore(Protocol):
    """Stores large results until they expire. Each belongs to a principal: a handle permits nothing.

    Owners and readers are scopes of principals. For a reader that must not read a result (`may_read`), its
    handle is unknown.
    """

    async def put(
        self, text: str, tool: str, ttl_s: float = DEFAULT_TTL_S, *, owner: str, value: str = ""
    ) -> StoredResult:
        """Store a text under a new handle. It expires after `ttl_s` seconds.

        value: the handle of the value that the text shows, as JSON; empty if it shows none.
        """
        ...

    async def put_media(
        self, media: Media, tool: str, ttl_s: float = DEFAULT_TTL_S, *, owner: str
    ) -> StoredResult:
        """Store the bytes of media under their handle. Media that the owner has stored stay as they are.

        Several owners may store the same media, each for itself. The oldest media are deleted when all
        together exceed a limit.
        """
        ...

    async def media(self, handle: str, *, reader: str) -> Media | None:
        """Return stored media, or None if they expired, are unknown, or the handle is that of a text."""
        ...

    async def find(self, handle: str, *, reader: str) -> StoredResult | None:
        """Return the metadata of a handle, for some time after expiry too; None if it is unknown.

        Of several owners' media with this handle, those of the reader come first.
        """
        ...

    async def text(self, handle: str, *, reader: str) -> str | None:
        """Return the text of a handle, or None if it expired or is unknown."""
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...


class SessionStore(Protocol):
    """Stores conversations as append-only lists of records."""

    async def append(self, session: str, records: Sequence[Record]) -> None:
        """Append records to a session. The first record creates it."""
        ...

    async def read(self, session: str) -> Sequence[Record]:
        """Return all records of a session in order; none if it does not exist."""
        ...

    async def page(self, cursor: str | None, limit: int) -> Page[SessionSummary]:
        """Return up to `limit` sessions after an opaque cursor, most recently changed first."""
        ...

    async def delete(self, session: str) -> bool:
        """Delete a session. Return False if there is none."""
        ...

    async def reap(self, before: float, keep: str | None = None) -> int:
        """Delete sessions last changed before a time, except `keep`. Return how many were deleted.

        before: seconds since the epoch.
        """
        ...

    async def aclose(self) -> None:
        """Close what the store holds open. May be called more than once."""
        ...
