"""The OAuth login of a user with a browser."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import AuthorizationCodeResult, OAuthMetadata
from mcp_types import LATEST_PROTOCOL_VERSION

from onetool.domain.errors import LoginFailed
from onetool.domain.text.strings import truncate_middle
from onetool.sources.mcp_servers.errors import ServerUnavailable, consume_exception
from onetool.version import __version__

from .callback_server import CallbackServer
from .config import OAuthConfig
from .metadata_client import check_authorization_url, check_scheme, error_code, open_client
from .tokens import PendingTokens, StoredTokens, expiry, make_provider

UNAUTHORIZED, SERVER_ERROR = 401, 500
PKCE = "S256"
MAX_REASON_LENGTH = 300
Show = Callable[[str], None]
OpenBrowser = Callable[[str], bool]


async def log_in(config: OAuthConfig, show: Show, open_browser: OpenBrowser) -> None:
    """Show and open the authorization page, wait for the redirect, and store the tokens.

    Raises:
        LoginFailed: The login did not complete. Tokens of an earlier login stay valid.
    """
    try:
        check_scheme(config.url)
        async with open_client(config) as client, CallbackServer() as callback:
            tokens = await _BrowserLogin(config, client, callback, show, open_browser).run()
        async with config.store.exclusive(config.server) as stored:
            await stored.replace(tokens.text)
    except ServerUnavailable as error:
        raise LoginFailed(f"Login to server {config.server!r} failed: {error}.") from None
    except OSError as error:
        reason = f"cannot store the tokens: {error.strerror or error}"
        raise LoginFailed(f"Login to server {config.server!r} failed: {reason}.") from None


class _BrowserLogin:
    """One login attempt. The SDK's auth flow yields the requests, and this class sends them."""

    def __init__(
        self,
        config: OAuthConfig,
        client: httpx2.AsyncClient,
        callback: CallbackServer,
        show: Show,
        open_browser: OpenBrowser,
    ) -> None:
        self._config, self._client, self._callback = config, client, callback
        self._show, self._open_browser = show, open_browser
        self._pending = PendingTokens()
        self._provider = make_provider(
            config.url,
            self._pending,
            callback.url,
            redirect_handler=self._open_authorization_url,
            callback_handler=self._wait_for_code,
        )
        self._opening: asyncio.Task[bool] | None = None
        self._response = httpx2.Response(UNAUTHORIZED)
        """The last response of the server or of its authorization server."""

    async def run(self) -> StoredTokens:
        """Log in and return the tokens.

        Raises:
            ServerUnavailable: The login did not complete.
        """
        try:
            return await self._run_flow()
        except OAuthRegistrationError:
            raise ServerUnavailable(f"client registration failed{self._describe_response()}") from None
        except OAuthTokenError:
            reason = f"the authorization server issued no tokens{self._describe_response()}"
            raise ServerUnavailable(reason) from None
        except OAuthFlowError as error:
            raise ServerUnavailable(truncate_middle(str(error), MAX_REASON_LENGTH)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ArithmeticError) as error:
            raise ServerUnavailable(f"invalid OAuth response ({type(error).__name__})") from None

    async def _run_flow(self) -> StoredTokens:
        request = _initialize_request(self._config.url)
        async with aclosing(self._provider.async_auth_flow(request)) as flow:
            outgoing = await anext(flow)
            while self._pending.tokens is None:
                self._check(outgoing, request)
                self._response = await self._client.send(outgoing)
                if outgoing is request and self._response.status_code != UNAUTHORIZED:
                    # The server accepts anonymous sessions, but the user asked to log in.
                    self._response = httpx2.Response(UNAUTHORIZED, request=request)
                outgoing = await flow.asend(self._response)
        return self._stored_tokens()

    def _check(self, outgoing: httpx2.Request, first: httpx2.Request) -> None:
        """Check the metadata before registration: the SDK would guess endpoints that are missing there."""
        if outgoing is first or outgoing.method == "GET" or self._pending.client is not None:
            return
        metadata = self._metadata()
        if metadata.registration_endpoint is None:
            reason = "the authorization server does not support dynamic client registration"
            raise ServerUnavailable(f"{reason}; set an Authorization header instead")
        if PKCE not in (metadata.code_challenge_methods_supported or ()):
            reason = f"the authorization server does not advertise PKCE with {PKCE}"
            raise ServerUnavailable(f"{reason}, which MCP requires")

    def _metadata(self) -> OAuthMetadata:
        if (metadata := self._provider.context.oauth_metadata) is None:
            if self._response.status_code >= SERVER_ERROR:
                raise ServerUnavailable(f"the authorization server failed{self._describe_response()}")
            reason = "the server publishes no OAuth metadata, so login is not possible"
            raise ServerUnavailable(f"{reason}; if it needs an API key, set an Authorization header")
        return metadata

    async def _open_authorization_url(self, url: str) -> None:
        await check_authorization_url(url, self._config)
        self._callback.expect(parse_qs(urlsplit(url).query)["state"][-1])
        self._show(url)
        # Not awaited: some browser commands return only when the browser is closed.
        self._opening = asyncio.create_task(self._config.threads.run(self._open_browser, url))
        # A failure does not matter: the user can open the URL that was shown.
        self._opening.add_done_callback(consume_exception)

    async def _wait_for_code(self) -> AuthorizationCodeResult:
        params = await self._callback.wait()
        if not params.get("iss"):
            self._check_hosts()
        return AuthorizationCodeResult(code=params["code"], state=params["state"], iss=params.get("iss"))

    def _check_hosts(self) -> None:
        """Check that the code goes to the host that issued it, if the response does not name the issuer.

        Otherwise a server could show the login page of another service and receive the code of that service.
        """
        metadata = self._metadata()
        page, token = urlsplit(str(metadata.authorization_endpoint)), urlsplit(str(metadata.token_endpoint))
        if page.netloc != token.netloc:
            reason = f"the login page is on {page.netloc}, but the code would be sent to {token.netloc}"
            raise ServerUnavailable(f"{reason}, and the response does not name its issuer")

    def _stored_tokens(self) -> StoredTokens:
        tokens, client = self._pending.tokens, self._pending.client
        if tokens is None or client is None:
            raise AssertionError
        return StoredTokens(
            url=self._config.url,
            expires_at=expiry(tokens),
            tokens=tokens,
            client=client,
            issuer=self._metadata(),
            resource=self._provider.context.protected_resource_metadata,
        )

    def _describe_response(self) -> str:
        """Return the status and error code of the last response. Its body may contain tokens."""
        code = error_code(self._response)
        return f": HTTP status {self._response.status_code}" + (f", {code!r}" if code else "")


def _initialize_request(url: str) -> httpx2.Request:
    """Return a request that a protected server rejects with a pointer to its authorization server."""
    client_info = {"name": "onetool", "version": __version__}
    params = {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client_info}
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
    }
    return httpx2.Request("POST", url, json=message, headers=headers)
