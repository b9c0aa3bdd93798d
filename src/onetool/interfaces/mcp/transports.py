"""Transports of the MCP interface: stdio, and HTTP as an ASGI app."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, BinaryIO, TextIO

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.responses import JSONResponse

from onetool.domain.identity.interface import acting_through
from onetool.domain.identity.principal import Principal, current_principal
from onetool.network.line_streams import ConnectionLines, ConnectionOutput
from onetool.runtime.runtime import Runtime

from .http_sessions import HttpSessions
from .mcp_endpoint import McpEndpoint, UnknownEndpoint, check_endpoint, create_endpoint
from .server import OneToolServer

log = logging.getLogger(__name__)

MAX_BYTES = 16 * 2**20
MCP_PATH, ONLY_PATH, PROFILE_PATH = "/mcp", "/mcp/only/", "/mcp/p/"
IDLE_S = 900.0
MAX_QUEUED_LINES = 100
"""Lines that are read ahead of the requests in progress."""


async def serve_stdio(server: Server[Any], stdout: TextIO) -> None:
    """Serve one client until it closes stdin. Only protocol messages are written to `stdout`."""
    lines: Any = StdinLines(_reserve_stdin())
    try:
        async with stdio_server(stdin=lines, stdout=anyio.wrap_file(stdout)) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())
    except* BrokenPipeError:
        log.info("client closed stdout")


async def serve_connection(
    server: Server[Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Serve one client over a stream connection, one JSON-RPC message per line, until it ends."""
    lines: Any = ConnectionLines(reader, MAX_BYTES)
    output: Any = ConnectionOutput(writer)
    try:
        async with stdio_server(stdin=lines, stdout=output) as (messages, replies):
            await server.run(messages, replies, server.create_initialization_options())
    except* OSError:
        log.info("client closed the connection")


@asynccontextmanager
async def http_app(server: OneToolServer) -> AsyncIterator[StreamableHTTPASGIApp]:
    """Yield an ASGI app that serves any number of clients. The app does not check tokens."""
    sessions = HttpSessions(server, MAX_BYTES)
    async with sessions.run():
        yield StreamableHTTPASGIApp(sessions)


class NamedApps:
    """An ASGI app for `/mcp`, `/mcp/only/SERVER` and `/mcp/p/PROFILE`.

    There is one app for each path and principal in use: their clients share nothing. Those that were not used
    for a while are closed when another one is opened; sessions go on in a new app.
    """

    def __init__(
        self, runtime: Runtime, *, idle_s: float = IDLE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._runtime, self._idle_s, self._clock = runtime, idle_s, clock
        self._apps: dict[tuple[str, Principal], _OpenApp] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on to the app of its path."""
        path = str(scope["path"])
        try:
            check_endpoint(self._runtime, _endpoint(path))
        except UnknownEndpoint as error:
            problem = {"type": "about:blank", "title": "Not Found", "status": 404, "detail": str(error)}
            response = JSONResponse(problem, 404, media_type="application/problem+json")
            await response(scope, receive, send)
            return
        with acting_through("mcp"):  # also in what the app does later, because it is opened here
            app = self._app(path)
            app.users += 1
            try:
                await (await asyncio.shield(app.opened))(scope, receive, send)
            finally:
                app.users -= 1
                app.used_at = self._clock()

    async def close(self) -> None:
        """End all connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _app(self, path: str) -> "_OpenApp":
        key = path, current_principal()
        if key not in self._apps:
            self._close_idle()
            self._apps[key] = _OpenApp()
            task = asyncio.create_task(self._host(path, self._apps[key]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return self._apps[key]

    def _close_idle(self) -> None:
        before = self._clock() - self._idle_s
        for key, app in list(self._apps.items()):
            if not app.users and app.used_at < before:
                del self._apps[key]
                app.is_unused.set()

    async def _host(self, path: str, opening: "_OpenApp") -> None:
        """Hold the app of a path open: it must be closed by the task that opened it."""
        server = create_endpoint(self._runtime, _endpoint(path))
        async with http_app(server) as app:
            opening.opened.set_result(app)
            await opening.is_unused.wait()


class _OpenApp:
    """The app of one path and principal."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[StreamableHTTPASGIApp] = asyncio.get_running_loop().create_future()
        self.users, self.used_at, self.is_unused = 0, 0.0, asyncio.Event()


def _endpoint(path: str) -> McpEndpoint:
    if path.startswith(PROFILE_PATH):
        return McpEndpoint(profile=path.removeprefix(PROFILE_PATH))
    return McpEndpoint() if path == MCP_PATH else McpEndpoint(only=path.removeprefix(ONLY_PATH))


class StdinLines:
    """Lines of a stream. A daemon thread reads them, so that waiting for a line can be cancelled."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._slots = threading.Semaphore(MAX_QUEUED_LINES)
        threading.Thread(target=self._read, name="onetool-stdin", daemon=True).start()

    def __aiter__(self) -> "StdinLines":
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if not line:
            raise StopAsyncIteration
        self._slots.release()
        return line.decode("utf-8", "replace")

    def _read(self) -> None:
        line = b"-"
        with suppress(RuntimeError, OSError, ValueError):  # the event loop or the stream is closed
            while line:
                self._slots.acquire()
                line = self._stream.readline()
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _reserve_stdin() -> BinaryIO:
    """Reserve stdin for the protocol. Tools and their child processes read an empty stdin."""
    stdin = os.dup(0)
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    os.close(devnull)
    return os.fdopen(stdin, "rb", closefd=False)
