"""One life of a connection: opened, used and closed in one task, as its cancel scopes demand."""

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

from onetool.domain.caller import Progress
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.manifest import MOST_TOOLS, Definition
from onetool.domain.texts import cut
from onetool.version import __version__

from .failure import Down, NotSent, describe
from .http import NOT_SENT
from .results import LONGEST_ERROR, to_data
from .streams import Incoming, Outgoing, TransportStreams
from .tolerance import Tolerant

START_LIMIT, LIST_LIMIT = 30.0, 10.0
MOST_BYTES = 64 * 2**20
"""Of all definitions together."""
CLOSE_LIMIT = 6.0
Open = Callable[[Callable[[str], None]], AbstractAsyncContextManager[TransportStreams]]
"""Opens a way to the server; is given a function to call with the reason why it has ended."""


class Session:
    """A server that answers, until it does not."""

    def __init__(self, open_streams: Open, log: logging.Logger, on_change: Callable[[], None]) -> None:
        self._open_streams, self._log, self._on_change = open_streams, log, on_change
        self.reason = ""
        """Why it has ended."""
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[ClientSession] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(), context=Context())

    @property
    def is_alive(self) -> bool:
        """Whether a request can be sent."""
        return not self._stop.is_set() and not self._owner.done()

    async def start(self) -> None:
        """Wait until the server answers.

        Raises Down.
        """
        try:
            async with asyncio.timeout(START_LIMIT):
                await asyncio.shield(self._ready)
        except TimeoutError:
            self.end(f"it did not answer within {START_LIMIT:g} s")
            self._owner.cancel()
            raise Down(self.reason) from None
        except asyncio.CancelledError:
            self._owner.cancel()
            raise

    def end(self, reason: str) -> None:
        """Say that it is over; the first reason stays."""
        self.reason = self.reason or reason
        self._stop.set()

    async def close(self) -> None:
        """End it, and wait until everything is gone."""
        self.end("it was closed")
        if (
            not self._ready.done() and not self._owner.cancelling()
        ):  # a second time would stop its cleaning up
            self._owner.cancel()
        await asyncio.wait({self._owner}, timeout=CLOSE_LIMIT)

    async def tools(self, limit: float = LIST_LIMIT) -> list[Definition]:
        """Read the whole list of tools, page by page.

        Raises Down when it is too long, or does not come in time.
        """
        found: list[Definition] = []
        size, cursor, end = 0, None, time.monotonic() + limit
        while True:
            page = await self._page(cursor, end)
            found += [_definition(tool) for tool in page.tools]
            size += len(page.model_dump_json())
            if len(found) > MOST_TOOLS or size > MOST_BYTES:
                raise Down(f"it lists more than {MOST_TOOLS} tools or {MOST_BYTES} bytes of them")
            if not page.next_cursor or page.next_cursor == cursor:
                return found
            cursor = page.next_cursor

    async def answers(self, limit: float) -> bool:
        """Whether it answers a simple question in time."""
        try:
            await self._page(None, time.monotonic() + limit)
        except (Down, ExecutionError):
            return False
        return True

    async def call(self, name: str, args: Mapping[str, Any], deadline: float, progress: Progress) -> Any:
        """Call a tool of the server by the name that it has there.

        Raises ExecutionError; NotSent when nothing can have happened yet.
        """

        async def tell(done: float, total: float | None, message: str | None) -> None:
            progress(done, total, message or "")

        params = mcp_types.CallToolRequestParams(name=name, arguments=dict(args))
        request = mcp_types.CallToolRequest(params=params)
        return to_data(await self._ask(request, mcp_types.CallToolResult, deadline, tell), name)

    async def _page(self, cursor: str | None, end: float) -> mcp_types.ListToolsResult:
        client = await asyncio.shield(self._ready)
        params = mcp_types.PaginatedRequestParams(cursor=cursor) if cursor else None
        try:
            async with asyncio.timeout(max(end - time.monotonic(), 0.0)):
                return await asyncio.create_task(client.list_tools(params=params))
        except TimeoutError:
            raise Down("it did not list its tools in time") from None
        except (MCPError, ValidationError) as error:
            if self._stop.is_set():
                raise Down(self.reason) from error
            raise Down(f"its tools cannot be listed: {cut(describe(error), LONGEST_ERROR)}") from error

    async def _ask(self, request: Any, answer: Any, deadline: float, tell: Any) -> Any:
        client = await asyncio.shield(self._ready)
        seconds = max(deadline - time.monotonic(), 0.001)
        if not self.is_alive:
            raise NotSent(self.reason)
        sending = client.send_request(request, answer, seconds, progress_callback=tell)
        try:
            return await asyncio.create_task(sending)  # its cancel scopes must not see how we are driven
        except MCPError as error:
            raise await self._failure(error, deadline) from error
        except ValidationError as error:
            text = cut(str(error), LONGEST_ERROR)
            raise ExecutionError(Reason.UPSTREAM, f"The server's answer is not one of MCP: {text}") from error

    async def _failure(self, error: MCPError, deadline: float) -> Exception:
        if error.code == NOT_SENT:
            return NotSent(error.message)
        if error.code == REQUEST_TIMEOUT and time.monotonic() >= deadline:
            return ExecutionError(Reason.TIMEOUT, "The server did not answer in time.")
        if error.code == CONNECTION_CLOSED and self._stop.is_set():
            return ExecutionError(Reason.UPSTREAM, f"The server broke off during the call: {self.reason}.")
        return ExecutionError(Reason.UPSTREAM, cut(error.message, LONGEST_ERROR))

    async def _own(self) -> None:
        try:
            async with (
                self._open_streams(self.end) as (incoming, outgoing),
                self._client(incoming, outgoing) as client,
            ):
                await _negotiate(client)
                if not self._ready.done():
                    self._ready.set_result(client)
                await self._stop.wait()
        except Exception as error:  # noqa: BLE001 - the root of a background task
            self.end(describe(error))
        finally:
            self.end("it was closed")
            if not self._ready.done():
                self._ready.set_exception(Down(self.reason))
                self._ready.exception()  # nobody may be waiting

    def _client(self, incoming: Incoming, outgoing: Outgoing) -> ClientSession:
        dispatcher = Tolerant(incoming, outgoing, self._log, lambda: client.protocol_version)
        about = mcp_types.Implementation(name="onetool", version=__version__)
        client = ClientSession(dispatcher=dispatcher, message_handler=self._hear, client_info=about)
        return client

    async def _hear(self, message: IncomingMessage) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._on_change()


async def _negotiate(client: ClientSession) -> None:
    """Shake hands; a server that knows no handshake is asked what it speaks."""
    try:
        await client.initialize()
    except MCPError as error:
        try:
            await client.discover()
        except MCPError:
            raise Down(cut(error.message, LONGEST_ERROR)) from error


def _definition(tool: mcp_types.Tool) -> Definition:
    said = tool.annotations
    return Definition(
        name=tool.name,
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=said.model_dump(mode="json", by_alias=True, exclude_none=True) if said else {},
    )
