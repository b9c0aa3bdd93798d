"""Logs a person in to a server through a browser, and keeps what that brings."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult, OAuthMetadata
from mcp_types import LATEST_PROTOCOL_VERSION

from onetool.domain.errors import LoginFailed
from onetool.domain.texts import cut
from onetool.version import __version__

from .account import Account
from .callback import Callback
from .endpoints import check_page, check_scheme, error_code, open_client
from .failure import Down, take_note
from .grant import Grant, Kept, end_of, make_provider

UNAUTHORIZED, BROKEN = 401, 500
PKCE = "S256"
SHOWN = 300
Show = Callable[[str], None]
OpenBrowser = Callable[[str], bool]


async def log_in(account: Account, show: Show, open_browser: OpenBrowser) -> None:
    """Show and open the page where a person logs in, wait for the answer, and keep the tokens.

    Raises LoginFailed; what an earlier login has brought then stays.
    """
    try:
        check_scheme(account.url)
        async with open_client(account) as client, Callback() as callback:
            grant = await _Login(account, client, callback, show, open_browser).follow()
        await account.threads.run(account.store.change, account.server, lambda before: grant.text)
    except Down as error:
        raise LoginFailed(f"Logging in to {account.server!r} failed: {error}.") from None
    except OSError as error:
        why = error.strerror or error
        raise LoginFailed(f"Logging in to {account.server!r} failed: it cannot be kept: {why}.") from None


class _Login:
    """One attempt: the protocol says what to ask next, we do the asking."""

    def __init__(
        self,
        account: Account,
        client: httpx2.AsyncClient,
        callback: Callback,
        show: Show,
        open_browser: OpenBrowser,
    ) -> None:
        self._account, self._client, self._callback = account, client, callback
        self._show, self._open_browser = show, open_browser
        self._kept = Kept()
        self._provider = make_provider(
            account.url, self._kept, callback.url, go=self._go, come_back=self._come_back
        )
        self._opening: asyncio.Task[bool] | None = None
        self._last = httpx2.Response(UNAUTHORIZED)

    async def follow(self) -> Grant:
        """Go all the way.

        Raises Down.
        """
        try:
            return await self._follow()
        except OAuthRegistrationError:
            raise Down(f"its authorization server does not register OneTool{self._said()}") from None
        except OAuthTokenError:
            raise Down(f"its authorization server gives no tokens{self._said()}") from None
        except OAuthFlowError as error:
            raise Down(cut(str(error), SHOWN)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ArithmeticError) as error:
            raise Down(f"what it says of logging in is not OAuth ({type(error).__name__})") from None

    async def _follow(self) -> Grant:
        request = _first_request(self._account.url)
        async with aclosing(self._provider.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while self._kept.tokens is None:
                self._check(outgoing, request)
                self._last = await self._client.send(outgoing)
                if outgoing is request and self._last.status_code != UNAUTHORIZED:
                    # it lets anyone say hello; the person wants to log in all the same
                    self._last = httpx2.Response(UNAUTHORIZED, request=request)
                outgoing = await flow.asend(self._last)
        return self._grant()

    def _check(self, outgoing: httpx2.Request, first: httpx2.Request) -> None:
        """Stop where the protocol would go on guessing addresses that nobody has named."""
        if outgoing is first or outgoing.method == "GET" or self._kept.client is not None:
            return
        metadata = self._metadata()
        if metadata.registration_endpoint is None:
            why = "its authorization server registers no program by itself"
            raise Down(f"{why}. Give the server a header Authorization instead")
        if PKCE not in (metadata.code_challenge_methods_supported or ()):
            why = f"its authorization server does not say that it protects logins by PKCE with {PKCE}"
            raise Down(f"{why}, which MCP demands")

    def _metadata(self) -> OAuthMetadata:
        if (found := self._provider.context.oauth_metadata) is None:
            if self._last.status_code >= BROKEN:
                raise Down(f"its authorization server is out of order{self._said()}")
            why = "it publishes no OAuth metadata, so there is no way to log in"
            raise Down(f"{why}. If it wants a key, give it a header Authorization")
        return found

    async def _go(self, address: str) -> None:
        """Send the person to the page."""
        await check_page(address, self._account)
        self._callback.expect(parse_qs(urlsplit(address).query)["state"][-1])
        self._show(address)
        # nobody waits for it: some browsers hold the one who started them until they are closed
        self._opening = asyncio.create_task(self._account.threads.run(self._open_browser, address))
        self._opening.add_done_callback(take_note)  # the address was shown: a person can go there by hand

    async def _come_back(self) -> AuthorizationCodeResult:
        params = await self._callback.answer()
        return AuthorizationCodeResult(code=params["code"], state=params["state"], iss=params.get("iss"))

    def _grant(self) -> Grant:
        tokens, client = self._kept.tokens, self._kept.client
        if tokens is None or client is None:
            raise AssertionError
        return Grant(
            url=self._account.url,
            ends_at=end_of(tokens),
            tokens=tokens,
            client=client,
            issuer=self._metadata(),
            resource=self._provider.context.protected_resource_metadata,
        )

    def _said(self) -> str:
        """The status and the code of an error: nothing else of an answer that may hold tokens."""
        code = error_code(self._last)
        return f": HTTP status {self._last.status_code}" + (f", {code!r}" if code else "")


def _first_request(url: str) -> httpx2.Request:
    """What a server that wants a login answers with where that is done."""
    about = {"name": "onetool", "version": __version__}
    params = {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": about}
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
    }
    return httpx2.Request("POST", url, json=hello, headers=headers)
