"""A server for other processes of the user: passes requests on to the one program, and its notices back."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import LoggingMessageNotification

from onetool.domain.calls.caller import Caller, LogEntry
from onetool.domain.errors import ExecutionError, Reason, RequestRefused
from onetool.network.line_streams import ConnectionLines, ConnectionOutput
from onetool.version import __version__

from .pages import LIST_TIMEOUT_S
from .questions import CallQuestions
from .request_options import RequestOptions
from .session import ServerSession
from .transport.rejected_message import MESSAGE_TOO_LARGE

MAX_BYTES = 16 * 2**20
MAX_CALL_S = 86_400.0
"""Limit of a relayed request. The process that made it has its own, shorter one, and cancels the request."""
HANDSHAKES = ("initialize", "server/discover")
OWN = ("ping", "resources/subscribe", "resources/unsubscribe")
"""Requests that are not passed on as they are: others may want the updates of a resource longer."""
Context = ServerRequestContext[Any, Any]


async def relay(session: ServerSession, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one process until it closes the connection. The server cannot ask its user anything."""
    relayed = _Relay(session)
    server: Server[Any] = Server("onetool-relay", version=__version__, instructions=session.instructions)
    server.middleware.append(relayed.pass_on)
    lines: Any = ConnectionLines(reader, MAX_BYTES)
    output: Any = ConnectionOutput(writer)
    session.listeners.add(relayed.on_notice)
    try:
        async with stdio_server(stdin=lines, stdout=output) as (messages, replies):
            await server.run(messages, replies, server.create_initialization_options())
    finally:
        session.listeners.discard(relayed.on_notice)


class _Relay:
    """Passes the messages of one process on."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._client: Any = None
        self._sending: set[asyncio.Task[None]] = set()

    async def pass_on(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer a request with the result of the program, unchanged."""
        if ctx.request_id is None:
            return await call_next(ctx)
        if ctx.method in HANDSHAKES:
            self._client = ctx.session
            result = await call_next(ctx)
            capabilities = {"capabilities": dict(self._session.capabilities)}
            return {**result, **capabilities} if isinstance(result, dict) else result
        if ctx.method == "tools/list":
            cursor = (ctx.params or {}).get("cursor")
            return await self._session.list_page(cursor, time.monotonic() + LIST_TIMEOUT_S)
        if ctx.method == "resources/subscribe":
            await self._session.updates.relay(str((ctx.params or {}).get("uri")))
        if ctx.method in OWN:
            return {}
        return await self._request(ctx)

    def on_notice(self, notice: Any) -> None:
        """Send a notification of the program; log messages take the way of the call that they belong to."""
        if self._client is not None and notice.method != "notifications/message":
            task = asyncio.ensure_future(self._client.send_notification(notice))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _request(self, ctx: Context) -> dict[str, Any]:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            await ctx.session.report_progress(progress, total, message)

        def log(entry: LogEntry) -> None:
            logs.append(asyncio.ensure_future(_send_log(ctx, entry)))

        logs: list[asyncio.Future[None]] = []
        deadline, params = time.monotonic() + MAX_CALL_S, _without_token(ctx.params)
        try:
            async with self._session.asking.call(_no_questions()):  # nor the user of another call
                return await self._session.request(ctx.method, params, RequestOptions(deadline, report, log))
        except RequestRefused as error:
            raise MCPError(error.rpc_code, str(error), error.rpc_data) from error
        except ExecutionError as error:
            if error.reason is not Reason.TOO_LARGE_OUT:
                raise
            raise MCPError(code=MESSAGE_TOO_LARGE, message=str(error)) from error
        finally:
            await asyncio.gather(*logs, return_exceptions=True)


def _no_questions() -> CallQuestions:
    return CallQuestions("", Caller(interface="relay"), is_enabled=False, sampling="never")


async def _send_log(ctx: Context, entry: LogEntry) -> None:
    params = {"level": entry.level, "logger": entry.logger, "data": entry.data}
    notification = LoggingMessageNotification.model_validate({"params": params})
    await ctx.session.send_notification(notification, ctx.request_id)


def _without_token(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return parameters without the token for progress: the request to the program has its own."""
    meta = {
        key: value for key, value in ((params or {}).get("_meta") or {}).items() if key != "progressToken"
    }
    rest = {key: value for key, value in (params or {}).items() if key != "_meta"}
    return rest | ({"_meta": meta} if meta else {})
