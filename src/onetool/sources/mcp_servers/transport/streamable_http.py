"""The streamable HTTP transport. A failed request does not affect other requests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client.streamable_http import streamable_http_client

from onetool.domain.text.json_text import encode
from onetool.sources.mcp_servers.errors import RequestNotSent, describe
from onetool.sources.mcp_servers.oauth.bearer_transport import BearerTransport
from onetool.sources.mcp_servers.oauth.config import OAuthConfig

from .stdio import MAX_MESSAGE_BYTES
from .streams import TransportStreams

NOT_SENT, TRANSPORT_FAILED = -32098, -32097
"""JSON-RPC error codes for requests without a response from the server."""
CONNECT_TIMEOUT_S = 10.0
NOT_SENT_ERRORS = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
SESSION_HEADER = "mcp-session-id"
BAD_REQUEST, NOT_FOUND = 400, 404


@asynccontextmanager
async def open_http(
    url: str, headers: Mapping[str, str], oauth: OAuthConfig | None = None
) -> AsyncIterator[TransportStreams]:
    """Connect to a URL, with the user's tokens if `oauth` is given."""
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=None)  # calls have deadlines, event streams have none
    base: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport()
    transport = ErrorResponseTransport(base if oauth is None else BearerTransport(base, oauth))
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=transport) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams


class ErrorResponseTransport(httpx2.AsyncBaseTransport):
    """Turns transport errors into JSON-RPC error responses: an exception would end the whole session."""

    def __init__(self, transport: httpx2.AsyncBaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the server's response, limited in size, or a JSON-RPC error."""
        try:
            response = await self._transport.handle_async_request(request)
        except (RequestNotSent, *NOT_SENT_ERRORS) as error:
            return _error_response(NOT_SENT, describe(error))
        except httpx2.TransportError as error:
            return _error_response(TRANSPORT_FAILED, describe(error))
        if response.status_code == NOT_FOUND and SESSION_HEADER in request.headers:
            await response.aclose()
            return _error_response(NOT_SENT, "the server no longer knows the session")
        content_type = response.headers.get("content-type", "")
        if request.method == "POST" and response.status_code >= BAD_REQUEST and "json" not in content_type:
            await response.aclose()
            reason = f"the server returned HTTP status {response.status_code}"
            return _error_response(TRANSPORT_FAILED, reason)
        if "json" in content_type and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _CappedStream(response.stream)
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()


class _CappedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._stream:
                size += len(chunk)
                if size > MAX_MESSAGE_BYTES:
                    raise httpx2.StreamError(
                        f"the server sent a message of more than {MAX_MESSAGE_BYTES} bytes"
                    )
                yield chunk
        except httpx2.TransportError as error:
            raise httpx2.StreamError(describe(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


def _error_response(code: int, message: str) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=encode(error))
