"""A session with a server. One task opens and closes it, because the SDK's cancel scopes require that."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.client.session import ClientSession, IncomingMessage
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from onetool.domain.calls.caller import ProgressHandler
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.servers.manifest import MAX_TOOLS, ServerTool
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.tool import JsonSchema
from onetool.version import __version__

from .errors import RequestNotSent, ServerUnavailable, describe
from .lenient_listing import LenientDispatcher
from .results import MAX_ERROR_LENGTH, to_data
from .transport.message_gate import MESSAGE_TOO_LARGE
from .transport.streamable_http import NOT_SENT
from .transport.streams import Incoming, Outgoing, TransportStreams

START_TIMEOUT_S, LIST_TIMEOUT_S, CLOSE_TIMEOUT_S = 30.0, 10.0, 6.0
MAX_LISTING_BYTES = 64 * 2**20
OpenStreams = Callable[[Callable[[str], None]], AbstractAsyncContextManager[TransportStreams]]
"""Opens a transport. The argument is a callback for the reason why the transport ended."""


class ServerSession:
    """A session with a server, from its start until either side ends it."""

    def __init__(self, open_streams: OpenStreams, log: logging.Logger, on_change: Callable[[], None]) -> None:
        self._open_streams, self._log, self._on_change = open_streams, log, on_change
        self.reason = ""
        """Why the session ended; empty while it is alive."""
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(), context=Context())

    @property
    def is_alive(self) -> bool:
        """Whether requests can be sent."""
        return not self._stop.is_set() and not self._task.done()

    async def start(self) -> None:
        """Wait until the session is initialized.

        Raises:
            ServerUnavailable: The server cannot be started or reached, or does not respond in time.
        """
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await asyncio.shield(self._ready)
        except TimeoutError:
            self.end(f"no response within {START_TIMEOUT_S:g} s")
            self._task.cancel()
            raise ServerUnavailable(self.reason) from None
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    def end(self, reason: str) -> None:
        """End the session. Only the first reason is recorded."""
        self.reason = self.reason or reason
        self._stop.set()

    async def close(self) -> None:
        """End the session and wait until the transport is closed."""
        self.end("the session was closed")
        # A second cancellation would interrupt the cleanup.
        if not self._ready.done() and not self._task.cancelling():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=CLOSE_TIMEOUT_S)

    async def tools(self, timeout_s: float = LIST_TIMEOUT_S) -> list[ServerTool]:
        """Return all tools of the server, from all pages.

        Raises:
            ServerUnavailable: The list is too long or does not arrive in time.
        """
        tools: list[ServerTool] = []
        size, cursor, deadline = 0, None, time.monotonic() + timeout_s
        while True:
            page = await self._list_page(cursor, deadline)
            tools += [_to_server_tool(tool) for tool in page.tools]
            size += len(page.model_dump_json())
            if len(tools) > MAX_TOOLS or size > MAX_LISTING_BYTES:
                limit = f"{MAX_TOOLS} tools or {MAX_LISTING_BYTES} bytes"
                raise ServerUnavailable(f"the list of tools has more than {limit}")
            if not page.next_cursor or page.next_cursor == cursor:
                return tools
            cursor = page.next_cursor

    async def responds(self, timeout_s: float) -> bool:
        """Return whether the server responds to a request in time."""
        try:
            await self._list_page(None, time.monotonic() + timeout_s)
        except (ServerUnavailable, ExecutionError):
            return False
        return True

    async def call(
        self,
        name: str,
        args: Mapping[str, Any],
        deadline: float,
        on_progress: ProgressHandler,
        output_schema: JsonSchema | None = None,
    ) -> Any:
        """Call a tool by its name on the server and return its data, according to its output schema.

        Raises:
            RequestNotSent: The session ended before the request was sent.
            ExecutionError: The call failed or timed out.
        """

        async def report(done: float, total: float | None, message: str | None) -> None:
            on_progress(done, total, message or "")

        params = mcp_types.CallToolRequestParams(name=name, arguments=dict(args))
        request = mcp_types.CallToolRequest(params=params)
        result = await self._send(request, mcp_types.CallToolResult, deadline, report)
        return to_data(result, name, output_schema)

    async def _list_page(self, cursor: str | None, deadline: float) -> mcp_types.ListToolsResult:
        client = await asyncio.shield(self._ready)
        params = mcp_types.PaginatedRequestParams(cursor=cursor) if cursor else None
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                return await asyncio.create_task(client.list_tools(params=params))
        except TimeoutError:
            raise ServerUnavailable("the server did not list its tools in time") from None
        except (MCPError, ValidationError) as error:
            if self._stop.is_set():
                raise ServerUnavailable(self.reason) from error
            reason = truncate_middle(describe(error), MAX_ERROR_LENGTH)
            raise ServerUnavailable(f"cannot list the tools: {reason}") from error

    async def _send(self, request: Any, result_type: Any, deadline: float, on_progress: Any) -> Any:
        client = await asyncio.shield(self._ready)
        seconds = max(deadline - time.monotonic(), 0.001)
        if not self.is_alive:
            raise RequestNotSent(self.reason)
        sending = client.send_request(request, result_type, seconds, progress_callback=on_progress)
        try:
            return await asyncio.create_task(sending)  # its cancel scopes need a task of their own
        except MCPError as error:
            raise self._map_error(error, deadline) from error
        except ValidationError as error:
            text = truncate_middle(str(error), MAX_ERROR_LENGTH)
            raise ExecutionError(
                Reason.UPSTREAM, f"The server sent an invalid MCP response: {text}"
            ) from error

    def _map_error(self, error: MCPError, deadline: float) -> Exception:
        if error.code == NOT_SENT:
            return RequestNotSent(error.message)
        if error.code == MESSAGE_TOO_LARGE:
            return ExecutionError(Reason.TOO_LARGE_OUT, error.message)
        if error.code == REQUEST_TIMEOUT and time.monotonic() >= deadline:
            return ExecutionError(Reason.TIMEOUT, "The server did not respond in time.")
        if error.code == CONNECTION_CLOSED and self._stop.is_set():
            return ExecutionError(Reason.UPSTREAM, f"The server disconnected during the call: {self.reason}.")
        return ExecutionError(Reason.UPSTREAM, truncate_middle(error.message, MAX_ERROR_LENGTH))

    async def _run(self) -> None:
        try:
            async with (
                self._open_streams(self.end) as (incoming, outgoing),
                self._client(incoming, outgoing) as client,
            ):
                await _negotiate(client)
                if not self._ready.done():
                    self._ready.set_result(client)
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001 - root of a background task
            self.end(describe(error))
        finally:
            self.end("the session was closed")
            if not self._ready.done():
                self._ready.set_exception(ServerUnavailable(self.reason))
                self._ready.exception()  # marks it as retrieved: there may be no caller

    def _client(self, incoming: Incoming, outgoing: Outgoing) -> ClientSession:
        dispatcher = LenientDispatcher(incoming, outgoing, self._log, lambda: client.protocol_version)
        client_info = mcp_types.Implementation(name="onetool", version=__version__)
        client = ClientSession(
            dispatcher=dispatcher, message_handler=self._on_message, client_info=client_info
        )
        return client

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._on_change()


async def _negotiate(client: ClientSession) -> None:
    """Initialize the session. Fall back to discovery for servers without `initialize`."""
    try:
        await client.initialize()
    except MCPError as error:
        try:
            await client.discover()
        except MCPError:
            raise ServerUnavailable(truncate_middle(error.message, MAX_ERROR_LENGTH)) from error


def _to_server_tool(tool: mcp_types.Tool) -> ServerTool:
    annotations = tool.annotations
    return ServerTool(
        name=tool.name,
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=(
            annotations.model_dump(mode="json", by_alias=True, exclude_none=True) if annotations else {}
        ),
    )
