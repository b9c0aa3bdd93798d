"""Access tokens: fetched once however many calls need them, kept, and renewed before they end."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field

from onetool.domain.errors import ExecutionError, Reason

EARLY = 30.0
"""Seconds before its end when a token is renewed."""
MAX_KEPT = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a token endpoint gave."""

    value: str = field(repr=False)
    seconds: float
    refresh: str = field(default="", repr=False)
    """What renews it, where the endpoint gave a new one."""


Fetch = Callable[[str], Awaitable[Token]]
"""Asks the endpoint, with the refresh token that it gave last, or an empty text."""


class Tokens:
    """Shared by all tools; whoever knows the same credentials gets the same token."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._entries: dict[Hashable, _Entry] = {}

    async def get(self, key: Hashable, fetch: Fetch, *, stale: str = "") -> tuple[str, bool]:
        """Return a token other than `stale`, and whether it was kept from an earlier call.

        Raises ExecutionError when it cannot be fetched; those who wait for the same fetch get the same error.
        """
        entry = self._entry(key)
        if entry.token and entry.token.value != stale and self._now() < entry.ends - EARLY:
            return entry.token.value, True
        fetches = entry.fetches
        async with entry.lock:
            if entry.fetches == fetches:  # else somebody has asked while this call waited
                await self._renew(entry, fetch)
            outcome = entry.outcome
        if isinstance(outcome, Token):
            return outcome.value, False
        raise ExecutionError(outcome.reason, str(outcome))

    async def _renew(self, entry: "_Entry", fetch: Fetch) -> None:
        try:
            entry.token = entry.outcome = await fetch(entry.token.refresh if entry.token else "")
            entry.ends = self._now() + entry.token.seconds
        except ExecutionError as error:
            entry.outcome = error
        entry.fetches += 1

    def _entry(self, key: Hashable) -> "_Entry":
        if key not in self._entries and len(self._entries) >= MAX_KEPT:
            del self._entries[next(iter(self._entries))]
        return self._entries.setdefault(key, _Entry())


class _Entry:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.token: Token | None = None
        self.ends = 0.0
        self.outcome: Token | ExecutionError = ExecutionError(Reason.UPSTREAM, "No token was fetched yet.")
        self.fetches = 0
