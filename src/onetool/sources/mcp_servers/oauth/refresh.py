"""The tokens of a server, refreshed when they expire."""

import asyncio
import logging
import time
from contextlib import aclosing
from functools import partial

import httpx2
from mcp_types import LATEST_PROTOCOL_VERSION

from onetool.sources.mcp_servers.errors import NoResponse, ServerUnavailable, as_fragment
from onetool.sources.shared_refresh import RefreshTimedOut, SharedRefresh

from .config import OAuthConfig
from .metadata_client import error_code, open_client
from .tokens import PendingTokens, StoredTokens, make_provider

EXPIRED = 1.0
RECHECK_S = 5.0
"""Seconds until tokens are looked for again at a server that has none, without a request that needs them."""
PERMANENT_ERRORS = ("invalid_grant", "invalid_client", "unauthorized_client")
"""Error codes after which the user must log in again. All others may be temporary."""


class TokenRefresher:
    """The tokens of one server, shared by all its requests."""

    def __init__(self, config: OAuthConfig) -> None:
        self._config = config
        self._tokens: StoredTokens | None = None
        self._none_until = 0.0
        """When to look for tokens again, because there were none; 0 if they were never looked for."""
        self._lock = asyncio.Lock()
        self._shared = SharedRefresh(config.store, config.server)
        self._log = logging.getLogger(f"onetool.servers.{config.server}")

    async def current(self) -> StoredTokens | None:
        """Return the tokens, refreshed if they are about to expire; None if there are none.

        Raises:
            ServerUnavailable: The tokens are expired and cannot be refreshed at present.
        """
        tokens = self._tokens or await self._find()
        if tokens is None or not tokens.needs_refresh:
            return tokens
        try:
            return await self.replace(tokens)
        except ServerUnavailable:
            if tokens.is_expired:
                raise
            return tokens

    async def _find(self) -> StoredTokens | None:
        """Return the stored tokens; None if there are none, as far as is known."""
        if time.monotonic() < self._none_until:
            return None
        try:
            tokens = await self.replace(None)
        except ServerUnavailable:
            if not self._none_until:
                raise
            tokens = None  # most servers need none, and requests to them go on
        if tokens is None:
            self._none_until = time.monotonic() + RECHECK_S
        return tokens

    async def replace(self, stale: StoredTokens | None) -> StoredTokens | None:
        """Return tokens other than the stale ones, stored by any process or refreshed, or None.

        Raises:
            ServerUnavailable: The tokens cannot be read or refreshed at present.
        """
        async with self._lock:
            if self._tokens is stale:  # otherwise another request replaced them while this one waited
                self._tokens = await self._load(stale)
            return self._tokens

    async def close(self) -> None:
        """Wait for a refresh in progress: the old refresh token is used up, and the new one would be lost."""
        await self._shared.close()

    async def _load(self, stale: StoredTokens | None) -> StoredTokens | None:
        """Load tokens from the store, and refresh the stale ones."""
        config, refreshed = self._config, list[StoredTokens]()
        try:
            if stale is None:
                return self._parse(await config.store.read(config.server))
            tokens = self._parse(await self._shared.run(partial(self._refresh, stale, refreshed)))
        except RefreshTimedOut as error:
            raise ServerUnavailable(str(error)) from None
        except OSError as error:
            reason = f"cannot read or store the tokens: {error.strerror or as_fragment(error)}"
            if not refreshed:
                raise ServerUnavailable(reason) from error
            self._log.error("%s", reason)
            return refreshed[0]
        return None if tokens is None or tokens.tokens == stale.tokens else tokens

    async def _refresh(
        self, stale: StoredTokens, refreshed: list[StoredTokens], text: str | None
    ) -> str | None:
        """Return the text to store: new tokens if the stored ones are stale, else the text unchanged."""
        stored = self._parse(text)
        if stored is None or stored.tokens != stale.tokens or not stored.can_refresh:
            return text
        try:
            tokens = await refresh(stored, self._config)
        except NoResponse:  # issuers accept a token again for some time if their response was lost
            tokens = await refresh(stored, self._config)
        if tokens is None:
            return None
        refreshed.append(tokens)
        self._config.credentials.add(*tokens.values)
        return tokens.text

    def _parse(self, text: str | None) -> StoredTokens | None:
        tokens = StoredTokens.read(text, self._config.url)
        if tokens is not None:
            self._config.credentials.add(*tokens.values)
        return tokens


async def refresh(tokens: StoredTokens, config: OAuthConfig) -> StoredTokens | None:
    """Exchange the refresh token for new tokens; None if it is permanently rejected.

    Raises:
        ServerUnavailable: The authorization server is unavailable or its response is invalid.
    """
    pending = PendingTokens(tokens)
    provider = make_provider(tokens.url, pending)
    provider.context.oauth_metadata = tokens.issuer
    provider.context.protected_resource_metadata = tokens.resource
    provider.context.token_expiry_time = EXPIRED
    request = httpx2.Request("POST", tokens.url, headers={"MCP-Protocol-Version": LATEST_PROTOCOL_VERSION})
    response = httpx2.Response(0)
    try:
        async with open_client(config) as client, aclosing(provider.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while outgoing is not request:
                response = await client.send(outgoing)
                outgoing = await flow.asend(response)
        if pending.tokens is not None and pending.tokens is not tokens.tokens:
            return tokens.with_tokens(pending.tokens)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ArithmeticError) as error:
        raise ServerUnavailable(f"token refresh failed ({type(error).__name__})") from None
    code = error_code(response)
    if response.is_client_error and code in PERMANENT_ERRORS:
        return None
    status = f"HTTP status {response.status_code}" + (f", {code!r}" if code else "")
    raise ServerUnavailable(f"token refresh failed: the authorization server returned {status}")
