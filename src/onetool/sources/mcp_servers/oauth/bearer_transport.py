"""An HTTP transport that sends the user's access token to the server it was issued for, and nowhere else."""

import httpx2

from onetool.sources.mcp_servers.errors import RequestNotSent, ServerUnavailable

from .config import OAuthConfig
from .refresh import TokenRefresher
from .tokens import StoredTokens

UNAUTHORIZED = 401


class BearerTransport(httpx2.AsyncBaseTransport):
    """Adds the access token to requests and refreshes it when the server rejects it."""

    def __init__(self, transport: httpx2.AsyncBaseTransport, config: OAuthConfig) -> None:
        self._transport, self._login_hint = transport, config.login_hint
        self._refresher = TokenRefresher(config)
        self._origin = _origin(httpx2.URL(config.url))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the server's response. Retry once with new tokens if it rejects the current ones.

        Raises:
            RequestNotSent: There are no valid tokens, so the user must log in.
        """
        if _origin(request.url) != self._origin:
            return await self._transport.handle_async_request(request)
        try:
            return await self._send(request)
        except ServerUnavailable as error:
            raise RequestNotSent(str(error)) from error

    async def aclose(self) -> None:
        """Close all connections."""
        await self._refresher.close()
        await self._transport.aclose()

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        tokens = await self._refresher.current()
        response = await self._send_with(request, tokens)
        if response.status_code == UNAUTHORIZED:
            await response.aclose()
            tokens = await self._refresher.replace(tokens)
            if tokens is not None:
                response = await self._send_with(request, tokens)
        if response.status_code == UNAUTHORIZED:
            await response.aclose()
            raise ServerUnavailable(f"login required: {self._login_hint}")
        return response

    async def _send_with(self, request: httpx2.Request, tokens: StoredTokens | None) -> httpx2.Response:
        if tokens is not None:
            request.headers["Authorization"] = f"Bearer {tokens.tokens.access_token}"
        return await self._transport.handle_async_request(request)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
