"""The steps of an OAuth login: find the authorization server, register a client, and get tokens."""

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthMetadata,
    ProtectedResourceMetadata,
)
from mcp_types import LATEST_PROTOCOL_VERSION

from onetool.domain.text.strings import truncate_middle
from onetool.sources.mcp_servers.errors import ServerUnavailable
from onetool.version import __version__

from .config import OAuthConfig
from .metadata_client import check_authorization_url, error_code
from .tokens import PendingTokens, StoredTokens, make_provider

UNAUTHORIZED, SERVER_ERROR = 401, 500
PKCE = "S256"
MAX_REASON_LENGTH = 300
NO_TOKENS = "the authorization server issued no tokens"
ShowPage = Callable[[str], Awaitable[None]]
WaitForCode = Callable[[], Awaitable[AuthorizationCodeResult]]


class LoginFlow:
    """One login attempt. The SDK's auth flow yields the requests, and this class sends them."""

    def __init__(
        self,
        config: OAuthConfig,
        client: httpx2.AsyncClient,
        redirect_uri: str,
        *,
        show_page: ShowPage,
        wait_for_code: WaitForCode,
    ) -> None:
        """show_page: shows the login page to the user. wait_for_code: returns what the redirect contains."""
        self._config, self._client = config, client
        self._show_page, self._wait_for_code = show_page, wait_for_code
        self._pending = PendingTokens()
        self._provider = make_provider(
            config.url,
            self._pending,
            redirect_uri,
            redirect_handler=self._check_page,
            callback_handler=self._receive_code,
        )
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
            raise ServerUnavailable(f"{NO_TOKENS}{self._describe_response()}") from None
        except OAuthFlowError as error:
            raise ServerUnavailable(truncate_middle(str(error), MAX_REASON_LENGTH)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, ArithmeticError) as error:
            raise ServerUnavailable(f"invalid OAuth response ({type(error).__name__})") from None

    @property
    def client(self) -> OAuthClientInformationFull:
        """The client that was registered."""
        if self._pending.client is None:
            raise AssertionError
        return self._pending.client

    @property
    def resource(self) -> ProtectedResourceMetadata | None:
        """What the server publishes about itself."""
        return self._provider.context.protected_resource_metadata

    @property
    def scope(self) -> str | None:
        """The scopes that are asked for."""
        return self._provider.context.client_metadata.scope

    @property
    def metadata(self) -> OAuthMetadata:
        """What the authorization server publishes about itself.

        Raises:
            ServerUnavailable: It publishes nothing.
        """
        if (metadata := self._provider.context.oauth_metadata) is None:
            if self._response.status_code >= SERVER_ERROR:
                raise ServerUnavailable(f"the authorization server failed{self._describe_response()}")
            reason = "the server publishes no OAuth metadata, so login is not possible"
            raise ServerUnavailable(f"{reason}; if it needs an API key, set an Authorization header")
        return metadata

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
        return StoredTokens.issue(
            self._config.url, self._pending.tokens, self.client, self.metadata, self.resource
        )

    def _check(self, outgoing: httpx2.Request, first: httpx2.Request) -> None:
        """Check the metadata before registration: the SDK would guess endpoints that are missing there."""
        if outgoing is first or outgoing.method == "GET" or self._pending.client is not None:
            return
        metadata = self.metadata
        if metadata.registration_endpoint is None:
            reason = "the authorization server does not support dynamic client registration"
            raise ServerUnavailable(f"{reason}; set an Authorization header instead")
        if PKCE not in (metadata.code_challenge_methods_supported or ()):
            reason = f"the authorization server does not advertise PKCE with {PKCE}"
            raise ServerUnavailable(f"{reason}, which MCP requires")

    async def _check_page(self, url: str) -> None:
        await check_authorization_url(url, self._config)
        await self._show_page(url)

    async def _receive_code(self) -> AuthorizationCodeResult:
        result = await self._wait_for_code()
        if not result.iss:
            check_hosts(self.metadata)
        return result

    def _describe_response(self) -> str:
        return describe_response(self._response)


def check_hosts(metadata: OAuthMetadata) -> None:
    """Check that the code goes to the host that issued it, if the response does not name the issuer.

    Otherwise a server could show the login page of another service and receive the code of that service.

    Raises:
        ServerUnavailable: The hosts differ.
    """
    page, token = urlsplit(str(metadata.authorization_endpoint)), urlsplit(str(metadata.token_endpoint))
    if page.netloc != token.netloc:
        reason = f"the login page is on {page.netloc}, but the code would be sent to {token.netloc}"
        raise ServerUnavailable(f"{reason}, and the response does not name its issuer")


def describe_response(response: httpx2.Response) -> str:
    """Return the status and error code of a response. Its body may contain tokens."""
    code = error_code(response)
    return f": HTTP status {response.status_code}" + (f", {code!r}" if code else "")


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
