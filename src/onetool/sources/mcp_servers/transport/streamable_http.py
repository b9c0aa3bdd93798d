"""The streamable HTTP transport. A failed request does not affect other requests."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary

import anyio
import httpx2
import orjson
from mcp.client.streamable_http import streamable_http_client

from onetool.domain.text.json_text import encode
from onetool.sources.mcp_servers.errors import RequestNotSent, describe
from onetool.sources.mcp_servers.oauth.bearer_transport import BearerTransport
from onetool.sources.mcp_servers.oauth.config import OAuthConfig

from .limited_streams import LimitedBody, LimitedEvents, LimitedJson
from .message_gate import MessageLimits
from .streams import TransportStreams

NOT_SENT, TRANSPORT_FAILED = -32098, -32097
"""JSON-RPC error codes for requests without a response from the server."""
CONNECT_TIMEOUT_S = 10.0
NOT_SENT_ERRORS = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
SESSION_HEADER = "mcp-session-id"
BAD_REQUEST, NOT_FOUND = 400, 404


@asynccontextmanager
async def open_http(
    url: str, headers: Mapping[str, str], limits: MessageLimits, oauth: OAuthConfig | None = None
) -> AsyncIterator[TransportStreams]:
    """Connect to a URL, with the user's tokens if `oauth` is given."""
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=None)  # calls have deadlines, event streams have none
    base: httpx2.AsyncBaseTransport = httpx2.AsyncHTTPTransport()
    transport = ErrorResponseTransport(base if oauth is None else BearerTransport(base, oauth), limits)
    async with (
        httpx2.AsyncClient(
            headers={**headers, "Accept-Encoding": "identity"}, timeout=timeout, transport=transport
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=2 * limits.max_bytes) as streams,
    ):
        yield streams


class ErrorResponseTransport(httpx2.AsyncBaseTransport):
    """Turns transport errors into JSON-RPC error responses: an exception would end the whole session."""

    def __init__(self, transport: httpx2.AsyncBaseTransport, limits: MessageLimits) -> None:
        self._transport, self._limits = transport, limits
        self._waiting: dict[int | str, anyio.CancelScope] = {}
        """Requests without a response so far, by their ids."""
        self._bodies: WeakValueDictionary[int | str, LimitedBody] = WeakValueDictionary()
        """Responses that arrive, by the id of the request."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the server's response, limited in size, or a JSON-RPC error."""
        message = _message(request)
        self._end_cancelled(message)
        try:
            response = await self._send(request, message.get("id"))
        except (RequestNotSent, *NOT_SENT_ERRORS) as error:
            return _error_response(NOT_SENT, describe(error))
        except httpx2.TransportError as error:
            return _error_response(TRANSPORT_FAILED, describe(error))
        if problem := _problem(request, response):
            await response.aclose()
            return _error_response(*problem)
        self._limit(message.get("id"), response)
        return response

    async def _send(self, request: httpx2.Request, request_id: int | str | None) -> httpx2.Response:
        """Send a request and return its response, unless it is cancelled meanwhile."""
        if request_id is None:
            return await self._transport.handle_async_request(request)
        with anyio.CancelScope() as self._waiting[request_id]:
            try:
                return await self._transport.handle_async_request(request)
            finally:
                del self._waiting[request_id]
        raise httpx2.TransportError("the request was cancelled")

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    def _limit(self, request_id: Any, response: httpx2.Response) -> None:
        content_type = response.headers.get("content-type", "")
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            return
        body: LimitedBody
        if "json" in content_type:
            body = LimitedJson(response.stream, self._limits, request_id)
        elif "event-stream" in content_type:
            body = LimitedEvents(response.stream, self._limits)
        else:
            return
        response.stream = body
        if request_id is not None:
            self._bodies[request_id] = body

    def _end_cancelled(self, message: Mapping[str, Any]) -> None:
        """End the response to a request that this message cancels."""
        if message.get("method") == "notifications/cancelled":
            request_id = message["params"]["requestId"]
            if ends := self._waiting.get(request_id) or self._bodies.get(request_id):
                ends.cancel()


def _problem(request: httpx2.Request, response: httpx2.Response) -> tuple[int, str] | None:
    """Return the JSON-RPC error of a response that cannot be used."""
    if response.status_code == NOT_FOUND and SESSION_HEADER in request.headers:
        return NOT_SENT, "the server no longer knows the session"
    is_json = "json" in response.headers.get("content-type", "")
    if request.method == "POST" and response.status_code >= BAD_REQUEST and not is_json:
        return TRANSPORT_FAILED, f"the server returned HTTP status {response.status_code}"
    if response.headers.get("content-encoding", "identity") != "identity":
        return TRANSPORT_FAILED, "the server compressed its response unasked"
    return None


def _message(request: httpx2.Request) -> dict[str, Any]:
    """Return the JSON-RPC message of a request; empty for other requests."""
    message = orjson.loads(request.content) if request.content else None
    return message if isinstance(message, dict) else {}


def _error_response(code: int, message: str) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=encode(error))
