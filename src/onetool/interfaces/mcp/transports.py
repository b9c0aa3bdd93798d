"""Transports of the MCP interface: stdio, and HTTP as an ASGI app."""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, BinaryIO, TextIO

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

log = logging.getLogger(__name__)

MAX_BYTES = 16 * 2**20
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


@asynccontextmanager
async def http_app(server: Server[Any]) -> AsyncIterator[StreamableHTTPASGIApp]:
    """Yield an ASGI app that serves any number of clients. The app does not check tokens."""
    manager = StreamableHTTPSessionManager(server, max_request_body_size=MAX_BYTES)
    async with manager.run():
        yield StreamableHTTPASGIApp(manager)


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
