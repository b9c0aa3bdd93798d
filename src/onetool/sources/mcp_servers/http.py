"""Messages with a server over streamable HTTP; what goes wrong with one request harms no other."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client.streamable_http import streamable_http_client

from onetool.domain.json_text import encode

from .account import Account
from .bearer import Bearer
from .failure import NotSent, describe
from .stdio import LONGEST_MESSAGE
from .streams import TransportStreams

NOT_SENT, BROKEN = -32098, -32097
"""Error codes of our own, for requests that no server has answered."""
CONNECT_TIMEOUT = 10.0
NEVER_ARRIVED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
SESSION = "mcp-session-id"
BAD, NOT_FOUND = 400, 404


@asynccontextmanager
async def open_http(
    url: str, headers: Mapping[str, str], account: Account | None = None
) -> AsyncIterator[TransportStreams]:
    """Talk with the server at a URL; account: as a person who has logged in there."""
    timeout = httpx2.Timeout(CONNECT_TIMEOUT, read=None)  # calls have deadlines, event streams have none
    transport: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport()
    wire = Wire(transport if account is None else Bearer(transport, account))
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=wire) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_MESSAGE) as streams,
    ):
        yield streams


class Wire(httpx2.AsyncBaseTransport):
    """Answers in place of a server that did not: an exception would end all that is under way."""

    def __init__(self, wire: httpx2.AsyncBaseTransport) -> None:
        self._wire = wire

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the server's answer, cut off where it is too long, or one that says what went wrong."""
        try:
            response = await self._wire.handle_async_request(request)
        except (NotSent, *NEVER_ARRIVED) as error:
            return _failure(NOT_SENT, describe(error))
        except httpx2.TransportError as error:
            return _failure(BROKEN, describe(error))
        if response.status_code == NOT_FOUND and SESSION in request.headers:
            await response.aclose()
            return _failure(NOT_SENT, "the server has forgotten the session")
        kind = response.headers.get("content-type", "")
        if request.method == "POST" and response.status_code >= BAD and "json" not in kind:
            await response.aclose()
            return _failure(BROKEN, f"the server answers with HTTP status {response.status_code}")
        if "json" in kind and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Capped(response.stream)
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        await self._wire.aclose()


class _Capped(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._stream:
                size += len(chunk)
                if size > LONGEST_MESSAGE:
                    raise httpx2.StreamError(f"it sent a message of more than {LONGEST_MESSAGE} bytes")
                yield chunk
        except httpx2.TransportError as error:
            raise httpx2.StreamError(describe(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


def _failure(code: int, message: str) -> httpx2.Response:
    said = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=encode(said))
