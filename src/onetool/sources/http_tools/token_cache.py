"""A cache of access tokens. Concurrent calls share one fetch, and tokens are refreshed before they expire."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.secrets.credential_set import CredentialSet

REFRESH_MARGIN_S = 30.0
"""Seconds before expiry at which a token is refreshed."""
MAX_ENTRIES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """A token that a token endpoint issued."""

    value: str = field(repr=False)
    lifetime_s: float
    refresh_token: str = field(default="", repr=False)
    """The new refresh token, if the endpoint issued one."""


Fetch = Callable[[str], Awaitable[AccessToken]]
"""Requests a token. The argument is the refresh token that the endpoint issued last, or an empty string."""


class TokenCache:
    """Shared by all tools. Tools with the same credentials share a token."""

    def __init__(
        self, credentials: CredentialSet | None = None, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Create a cache. Tokens are added to `credentials`, to be redacted."""
        self._credentials, self._now = credentials or CredentialSet(), now
        self._entries: dict[Hashable, _CacheEntry] = {}

    async def get(self, key: Hashable, fetch: Fetch, *, stale: str = "") -> tuple[str, bool]:
        """Return a token other than `stale`, and whether it came from the cache.

        Raises:
            ExecutionError: The fetch failed. All callers that waited for it get the same error.
        """
        entry = self._entry(key)
        if entry.token and entry.token.value != stale and self._now() < entry.expires_at - REFRESH_MARGIN_S:
            return entry.token.value, True
        fetches = entry.fetches
        async with entry.lock:
            if entry.fetches == fetches:  # otherwise another call fetched while this one waited
                await self._fetch(entry, fetch)
            outcome = entry.outcome
        if isinstance(outcome, AccessToken):
            return outcome.value, False
        raise ExecutionError(outcome.reason, str(outcome))

    async def _fetch(self, entry: "_CacheEntry", fetch: Fetch) -> None:
        try:
            entry.token = entry.outcome = await fetch(entry.token.refresh_token if entry.token else "")
            entry.expires_at = self._now() + entry.token.lifetime_s
            self._credentials.add(entry.token.value, entry.token.refresh_token)
        except ExecutionError as error:
            entry.outcome = error
        entry.fetches += 1

    def _entry(self, key: Hashable) -> "_CacheEntry":
        if key not in self._entries and len(self._entries) >= MAX_ENTRIES:
            del self._entries[next(iter(self._entries))]
        return self._entries.setdefault(key, _CacheEntry())


class _CacheEntry:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.token: AccessToken | None = None
        self.expires_at = 0.0
        self.outcome: AccessToken | ExecutionError = ExecutionError(
            Reason.UPSTREAM, "No token has been fetched."
        )
        self.fetches = 0
