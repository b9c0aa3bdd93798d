"""Keeps a login alive: tokens are read from the store, and renewed by one process at a time."""

import asyncio
import logging
from contextlib import aclosing
from functools import partial

import httpx2
from mcp_types import LATEST_PROTOCOL_VERSION

from .account import Account
from .endpoints import error_code, open_client
from .failure import Down, take_note
from .grant import Grant, Kept, make_provider

LONG_AGO = 1.0
REFUSED = ("invalid_grant", "invalid_client", "unauthorized_client")
"""What an authorization server says of a login that is over; all else may pass."""
LIMIT = 25.0
"""Seconds for one renewal, with all redirects."""


class Login:
    """The login of one server, shared by all its requests."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._grant: Grant | None = None
        self._turn = asyncio.Lock()
        self._finding: asyncio.Task[Grant | None] | None = None
        self._log = logging.getLogger(f"onetool.servers.{account.server}")

    async def current(self) -> Grant | None:
        """Return the login that there is, renewed where its end is near.

        Raises Down when it is over and cannot be renewed at present.
        """
        grant = self._grant or await self.other_than(None)
        if grant is None or not grant.is_due:
            return grant
        try:
            return await self.other_than(grant)
        except Down:
            if grant.is_over:
                raise
            return grant

    async def other_than(self, stale: Grant | None) -> Grant | None:
        """Return a login other than one that is of no use, by whichever process; None if there is none.

        Raises Down when that cannot be found out at present.
        """
        async with self._turn:
            if self._grant is stale:  # else somebody has asked while this request waited
                work = partial(self._find, stale, asyncio.get_running_loop())
                self._finding = asyncio.create_task(self._account.threads.run(work))
                self._finding.add_done_callback(take_note)
                self._grant = await asyncio.shield(self._finding)
            return self._grant

    async def close(self) -> None:
        """Wait for a renewal that is under way: the old refresh token is spent, the new one would be lost."""
        if self._finding is not None:
            await asyncio.wait({self._finding})

    def _find(self, stale: Grant | None, loop: asyncio.AbstractEventLoop) -> Grant | None:
        """On a thread: the store is held until the new tokens are there, also if the request is given up."""
        store, server, made = self._account.store, self._account.server, list[Grant]()
        try:
            if stale is None:
                return self._read(store.read(server))
            found = self._read(store.change(server, partial(self._renew, stale, loop, made)))
        except OSError as error:
            why = f"its login cannot be read or kept: {error.strerror or error}"
            if not made:
                raise Down(why) from error
            self._log.error("%s", why)
            return made[0]
        return None if found is None or found.tokens == stale.tokens else found

    def _renew(
        self, stale: Grant, loop: asyncio.AbstractEventLoop, made: list[Grant], text: str | None
    ) -> str | None:
        kept = self._read(text)
        if kept is None or kept.tokens != stale.tokens or not kept.can_renew:
            return text
        renewing = asyncio.run_coroutine_threadsafe(renew(kept, self._account), loop)
        try:
            renewed = renewing.result(LIMIT)
        except TimeoutError:
            renewing.cancel()
            raise Down(f"its login was not renewed within {LIMIT:g} s") from None
        if renewed is None:
            return None
        made.append(renewed)
        return renewed.text

    def _read(self, text: str | None) -> Grant | None:
        return Grant.read(text, self._account.url)


async def renew(grant: Grant, account: Account) -> Grant | None:
    """Exchange the refresh token for new tokens; None when it is refused for good.

    Raises Down when there is no clear answer.
    """
    kept = Kept(grant)
    provider = make_provider(grant.url, kept)
    provider.context.oauth_metadata = grant.issuer
    provider.context.protected_resource_metadata = grant.resource
    provider.context.token_expiry_time = LONG_AGO
    request = httpx2.Request("POST", grant.url, headers={"MCP-Protocol-Version": LATEST_PROTOCOL_VERSION})
    response = httpx2.Response(0)
    try:
        async with open_client(account) as client, aclosing(provider.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while outgoing is not request:
                response = await client.send(outgoing)
                outgoing = await flow.asend(response)
        if kept.tokens is not None and kept.tokens is not grant.tokens:
            return grant.with_tokens(kept.tokens)
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ArithmeticError) as error:
        raise Down(f"its login cannot be renewed ({type(error).__name__})") from None
    code = error_code(response)
    if response.is_client_error and code in REFUSED:
        return None
    said = f"HTTP status {response.status_code}" + (f", {code!r}" if code else "")
    raise Down(f"its login cannot be renewed: the authorization server answers with {said}")
