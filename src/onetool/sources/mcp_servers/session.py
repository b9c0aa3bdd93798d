"""A session with a server. One task opens and closes it, because the SDK's cancel scopes require that."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from typing import Any

import mcp_types
from mcp import MCPError
from mcp.client.session import ClientSession, IncomingMessage
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from onetool.domain.content.content import MAX_ERROR_LENGTH
from onetool.domain.errors import ExecutionError, Reason, RequestRefused
from onetool.domain.secrets.credential_set import CredentialSet
from onetool.domain.servers.instructions import MAX_STORED_LENGTH
from onetool.domain.text.strings import truncate_middle
from onetool.threads import Threads
from onetool.version import __version__

from .call_logs import CallLogs
from .errors import RequestNotSent, ServerUnavailable, consume_exception, describe
from .lenient_listing import LenientDispatcher, raw_pages
from .raw_client import RawClient
from .request_options import RequestOptions
from .session_questions import SessionQuestions
from .session_updates import SessionUpdates
from .transport.notification_limit import NotificationLimit
from .transport.rejected_message import MESSAGE_TOO_LARGE
from .transport.startup import Startup
from .transport.streamable_http import NOT_SENT
from .transport.streams import Incoming, Outgoing, TransportStreams

START_IDLE_S = 30.0
"""Seconds without a sign of life after which a start has failed."""
START_TIMEOUT_S = 900.0
"""Seconds after which a start has failed in any case."""
END_TIMEOUT_S = 1.0
"""How long a request whose time is over may take to end by itself."""
CLOSE_TIMEOUT_S = 6.0
LOG_LEVEL: mcp_types.LoggingLevel = "debug"
"""What servers of the newer protocol are asked to log."""
POLL_INTERVAL_S = 1.0
MAX_PEER_LENGTH = 100
CheckTool = Callable[[str, str], Awaitable[None]]
"""Checks that a session of a single member lists a tool, by its name, with this hash."""
OpenStreams = Callable[[Callable[[str], None]], AbstractAsyncContextManager[TransportStreams]]
"""Opens a transport. The argument is a callback for the reason why the transport ended."""


class ServerSession:
    """A session with a server, from its start until either side ends it."""

    def __init__(
        self,
        open_streams: OpenStreams,
        log: logging.Logger,
        on_notice: Callable[[Any], None],
        startup: Startup,
        threads: Threads,
        *,
        notifications: NotificationLimit,
        declared: Mapping[str, Any],
        newest_first: bool = False,
    ) -> None:
        """declared: what the server may ask the caller, as MCP clients declare it.

        newest_first: whether to try protocol 2026-07-28 before the older ones.
        """
        self.declared, self._newest_first = declared, newest_first
        self.asking = SessionQuestions()
        """What the server asks."""
        self.is_modern = False
        """Whether each request says what the server may ask."""
        self._open_streams, self._log, self._on_notice = open_streams, log, on_notice
        self._startup, self._threads, self._notifications = startup, threads, notifications
        self._logs = CallLogs()
        self._sending: set[asyncio.Task[dict[str, Any]]] = set()
        self.listeners: set[Callable[[Any], None]] = set()
        """Receive every notification of the server."""
        self.updates = SessionUpdates(
            lambda method, params, deadline: self.request(method, params, RequestOptions(deadline)),
            log,
            on_notice,
        )
        """Lets the server report updates of resources."""
        self.check_tool: CheckTool | None = None
        """Checks tools before they are called; None for a session of the workspace."""
        self.own_credentials: CredentialSet | None = None
        """What is redacted in what a session of a single member lists; None for one of the workspace."""
        self.reason = ""
        """Why the session ended; empty while it is alive."""
        self.instructions = ""
        """The instructions of the handshake."""
        self.capabilities: Mapping[str, Any] = {}
        """The capabilities of the handshake, as the server sent them."""
        self._activity, self._active_at = 0, startup.seconds
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[RawClient] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(), context=Context())

    @property
    def is_alive(self) -> bool:
        """Whether requests can be sent."""
        return not self._stop.is_set() and not self._task.done()

    async def start(self) -> None:
        """Wait until the session is initialized: as long as the program shows signs of life.

        The first start of a program may download it, which can take minutes.

        Raises:
            ServerUnavailable: The server cannot be started or reached, or does not respond in time.
        """
        try:
            while not await self._is_ready():
                if reason := await self._too_late():
                    self.end(self._startup.explain(reason))
                    self._task.cancel()
                    raise ServerUnavailable(self.reason)
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def _is_ready(self) -> bool:
        """Wait for a moment and return whether the session is initialized."""
        seconds = min(POLL_INTERVAL_S, START_IDLE_S / 4)
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._ready)
        except TimeoutError:
            return False
        return True

    async def _too_late(self) -> str:
        """Return why the start takes too long, or an empty string."""
        activity, now = await self._threads.run(self._startup.activity), self._startup.seconds
        if activity != self._activity:
            self._activity, self._active_at = activity, now
        if now - self._active_at > START_IDLE_S:
            return f"no response, and no sign of life for {START_IDLE_S:g} s"
        return f"no response within {START_TIMEOUT_S:g} s" if now > START_TIMEOUT_S else ""

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

    async def responds(self, timeout_s: float) -> bool:
        """Return whether the server responds to a request in time."""
        try:
            await self.list_page(None, time.monotonic() + timeout_s)
        except (ServerUnavailable, ExecutionError):
            return False
        return True

    async def list_page(self, cursor: str | None, deadline: float) -> dict[str, Any]:
        """Return one page of the list of tools as the server sent it, without invalid definitions.

        Raises:
            ServerUnavailable: It does not arrive in time, or is invalid.
        """
        client = await asyncio.shield(self._ready)
        params = mcp_types.PaginatedRequestParams(cursor=cursor) if cursor else None
        try:
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                return await asyncio.create_task(_list_raw(client, params))
        except TimeoutError:
            raise ServerUnavailable("the server did not list its tools in time") from None
        except (MCPError, ValidationError) as error:
            if self._stop.is_set():
                raise ServerUnavailable(self.reason) from error
            reason = truncate_middle(describe(error), MAX_ERROR_LENGTH)
            raise ServerUnavailable(f"cannot list the tools: {reason}") from error

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        options: RequestOptions,
        capabilities: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Send a request and return its result as the server sent it.

        capabilities: what a server of the newer protocol may ask during this request.

        Raises:
            RequestNotSent: The session ended before the request was sent.
            ExecutionError: The request failed or timed out.
        """
        deadline = options.deadline
        client = await asyncio.shield(self._ready)
        seconds = None if deadline is None else max(deadline - time.monotonic(), 0.001)
        if not self.is_alive:
            raise RequestNotSent(self.reason)
        sending = client.request_raw(method, params, seconds, options.on_progress, capabilities)
        with self._logs.collect(options.on_log):
            try:
                return await self._in_own_task(sending, deadline)
            except MCPError as error:
                raise self._map_error(error, deadline) from error

    async def _in_own_task(
        self, sending: Coroutine[Any, Any, dict[str, Any]], deadline: float | None
    ) -> dict[str, Any]:
        """Send a request in a task of its own, as its cancel scopes need it.

        If the caller is cancelled, the task is cancelled once: it then tells the server, and a second
        cancellation would interrupt that. After the deadline it tells the server by itself.
        """
        task = asyncio.create_task(sending)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(consume_exception)
            if deadline is None or time.monotonic() < deadline:
                task.cancel()
            else:
                asyncio.get_running_loop().call_later(END_TIMEOUT_S, task.cancel)
            raise

    def _map_error(self, error: MCPError, deadline: float | None) -> Exception:
        if error.code == NOT_SENT:
            return RequestNotSent(error.message)
        if error.code == MESSAGE_TOO_LARGE:
            return ExecutionError(Reason.TOO_LARGE_OUT, error.message)
        if error.code == REQUEST_TIMEOUT and deadline is not None and time.monotonic() >= deadline:
            return ExecutionError(Reason.TIMEOUT, "The server did not respond in time.")
        if error.code == CONNECTION_CLOSED and self._stop.is_set():
            return ExecutionError(Reason.UPSTREAM, f"The server disconnected during the call: {self.reason}.")
        message = truncate_middle(error.message, MAX_ERROR_LENGTH)
        return RequestRefused(message, error.code, error.error.data)

    async def _run(self) -> None:
        try:
            async with (
                self._open_streams(self.end) as (incoming, outgoing),
                self._client(incoming, outgoing) as client,
            ):
                await _negotiate(client, newest_first=self._newest_first)
                self._startup.add_step("handshake", _describe_peer(client))
                self.instructions = truncate_middle(client.instructions or "", MAX_STORED_LENGTH)
                self.capabilities = self._dispatcher.capabilities
                self.is_modern = client.protocol_version in MODERN_PROTOCOL_VERSIONS
                if not self._ready.done():
                    self._ready.set_result(client)
                await self.updates.serve(client, self._stop)
        except Exception as error:  # noqa: BLE001 - root of a background task
            self.end(describe(error))
        finally:
            self.end("the session was closed")
            if not self._ready.done():
                self._ready.set_exception(ServerUnavailable(self.reason))
                self._ready.exception()  # marks it as retrieved: there may be no caller

    def _client(self, incoming: Incoming, outgoing: Outgoing) -> RawClient:
        self._dispatcher = LenientDispatcher(
            incoming,
            outgoing,
            self._log,
            lambda: client.protocol_version,
            self._notifications,
            declared=self.declared,
        )
        client_info = mcp_types.Implementation(name="onetool", version=__version__)
        client = RawClient(
            self.asking.answer,
            dispatcher=self._dispatcher,
            message_handler=self._on_message,
            client_info=client_info,
            log_level=LOG_LEVEL,
        )
        return client

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, Exception):
            return
        self._logs.add(message)
        self._on_notice(message)
        for listener in list(self.listeners):
            listener(message)


async def _list_raw(client: ClientSession, params: mcp_types.PaginatedRequestParams | None) -> dict[str, Any]:
    """List tools through the SDK, which remembers them, but return the page as it was received."""
    pages = list[dict[str, Any]]()
    raw_pages.set(pages)
    listed = await client.list_tools(params=params)
    names = {tool.name for tool in listed.tools}  # the SDK drops tools with invalid header annotations
    return {**pages[-1], "tools": [tool for tool in pages[-1]["tools"] if tool["name"] in names]}


async def _negotiate(client: ClientSession, *, newest_first: bool) -> None:
    """Agree on a protocol: `server/discover` of the newest one, or `initialize` of those before it.

    Some programs end at a request before `initialize`, so it is the first one there.
    """
    if newest_first and await _discover(client):
        return
    try:
        await client.initialize()
    except MCPError as error:
        if newest_first or not await _discover(client):
            raise ServerUnavailable(truncate_middle(error.message, MAX_ERROR_LENGTH)) from error


async def _discover(client: ClientSession) -> bool:
    """Return whether the server knows the newest protocol, and use it if so."""
    try:
        await client.discover()
    except (MCPError, ValidationError, RuntimeError):  # also if it lists only older versions
        return False
    return True


def _describe_peer(client: ClientSession) -> str:
    """Return the server's name and version, and the protocol version."""
    info = client.server_info
    peer = truncate_middle(f"{info.name} {info.version}".strip(), MAX_PEER_LENGTH) if info else ""
    return f"{peer}, protocol {client.protocol_version}".removeprefix(", ")
