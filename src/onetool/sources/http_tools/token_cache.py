"""A cache of access tokens. Concurrent calls share one fetch, and tokens are refreshed before they expire."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.ports import TokenStore
from onetool.sources.shared_refresh import RefreshTimedOut, SharedRefresh

from .token_chain import IssuedToken, TokenChain

log = logging.getLogger(__name__)
MAX_ENTRIES = 1_000


class TokenKey(NamedTuple):
    """Identifies a token. Tools with equal keys share it."""

    url: str
    client_id: str
    scope: str
    credentials_hash: str
    chain: str = ""
    """The name under which the chain of refresh tokens is stored, or an empty string if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    """The response of a token endpoint."""

    value: str = field(repr=False)
    lifetime_s: float
    refresh_token: str = field(default="", repr=False)
    """The new refresh token, if the endpoint issued one."""


Fetch = Callable[[str], Awaitable[AccessToken]]
"""Requests a token. The argument is the refresh token that the endpoint issued last, or an empty string."""


class TokenCache:
    """Shared by all tools. Tools with the same credentials share a token.

    If there is a refresh token, the tokens are also stored: a new refresh token invalidates the one before.
    """

    def __init__(
        self,
        store: TokenStore,
        credentials: CredentialSet | None = None,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Create a cache. Tokens are added to `credentials`, to be redacted."""
        self._store, self._now = store, now
        self._credentials = credentials or CredentialSet()
        self._entries: dict[TokenKey, _CacheEntry] = {}

    async def get(self, key: TokenKey, fetch: Fetch, *, stale: str = "") -> tuple[str, bool]:
        """Return a token other than `stale`, and whether it was not fetched just now.

        Raises:
            ExecutionError: The fetch failed. All callers that waited for it get the same error.
        """
        entry = self._entry(key)
        if entry.token and self._is_usable(entry.token, stale):
            return entry.token.value, True
        fetches = entry.fetches
        async with entry.lock:
            if entry.fetches == fetches:  # otherwise another call fetched while this one waited
                await self._replace(key, entry, fetch, stale)
            outcome, is_new = entry.outcome, entry.is_new
        if isinstance(outcome, IssuedToken):
            return outcome.value, not is_new
        raise ExecutionError(outcome.reason, str(outcome))

    async def close(self) -> None:
        """Wait for refreshes in progress."""
        await asyncio.gather(*(entry.shared.close() for entry in self._entries.values()))

    def _is_usable(self, token: IssuedToken, stale: str) -> bool:
        return token.value != stale and token.is_fresh(self._now())

    async def _replace(self, key: TokenKey, entry: "_CacheEntry", fetch: Fetch, stale: str) -> None:
        try:
            if key.chain:
                entry.token = await self._refresh(key, entry, fetch, stale)
            else:
                entry.token, entry.is_new = self._issue(await fetch("")), True
            entry.outcome = entry.token
        except ExecutionError as error:
            entry.outcome = error
        entry.fetches += 1

    async def _refresh(self, key: TokenKey, entry: "_CacheEntry", fetch: Fetch, stale: str) -> IssuedToken:
        """Return the token that another process stored, or refresh it and store the new one."""
        issued = list[TokenChain]()

        async def refresh(text: str | None) -> str | None:
            chain = TokenChain.read(text)
            token = chain.tokens.get(key.scope)
            if token and self._is_usable(token, stale):
                return text
            response = await fetch(chain.refresh_token)
            chain = chain.with_token(key.scope, self._issue(response), response.refresh_token)
            issued.append(chain)
            return chain.text

        try:
            chain = TokenChain.read(await entry.shared.run(refresh))
        except RefreshTimedOut as error:
            raise ExecutionError(Reason.UPSTREAM, f"The {error}.") from None
        except OSError as error:
            reason = error.strerror or error
            if not issued:
                raise ExecutionError(
                    Reason.RAISED, f"Cannot read or store access tokens: {reason}."
                ) from error
            log.error("cannot store access tokens: %s", reason)
            chain = issued[0]
        self._credentials.add(*chain.values)
        entry.is_new = bool(issued)
        return chain.tokens[key.scope]

    def _issue(self, response: AccessToken) -> IssuedToken:
        self._credentials.add(response.value, response.refresh_token)
        expires_at = self._now() + response.lifetime_s
        return IssuedToken(value=response.value, lifetime_s=response.lifetime_s, expires_at=expires_at)

    def _entry(self, key: TokenKey) -> "_CacheEntry":
        if key not in self._entries and len(self._entries) >= MAX_ENTRIES:
            del self._entries[next(iter(self._entries))]
        if key not in self._entries:
            self._entries[key] = _CacheEntry(SharedRefresh(self._store, key.chain))
        return self._entries[key]


class _CacheEntry:
    def __init__(self, shared: SharedRefresh) -> None:
        self.shared = shared
        self.lock = asyncio.Lock()
        self.token: IssuedToken | None = None
        self.is_new = False
        """Whether this process fetched the token, not another one."""
        self.outcome: IssuedToken | ExecutionError = ExecutionError(
            Reason.UPSTREAM, "No token has been fetched."
        )
        self.fetches = 0
