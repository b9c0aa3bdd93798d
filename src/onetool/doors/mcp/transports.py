"""How clients reach the MCP door: over stdin and stdout, or over HTTP inside another server."""

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

MOST_BYTES = 16 * 2**20
WAITING = 100
"""Lines that are read ahead of what is being answered."""


async def serve_stdio(server: Server[Any], stdout: TextIO) -> None:
    """Serve one client until it closes our stdin; only the protocol is written to `stdout`."""
    lines: Any = Lines(_claim_stdin())
    try:
        async with stdio_server(stdin=lines, stdout=anyio.wrap_file(stdout)) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    except* BrokenPipeError:
        log.info("the client reads no more")


@asynccontextmanager
async def http_app(server: Server[Any]) -> AsyncIterator[StreamableHTTPASGIApp]:
    """An ASGI app that serves any number of clients as long as the block lasts; it checks no token itself."""
    manager = StreamableHTTPSessionManager(server, max_request_body_size=MOST_BYTES)
    async with manager.run():
        yield StreamableHTTPASGIApp(manager)


class Lines:
    """Lines of a stream, read on a daemon thread: whoever waits for one can be cancelled at once."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(WAITING)
        threading.Thread(target=self._read, name="onetool-stdin", daemon=True).start()

    def __aiter__(self) -> "Lines":
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if not line:
            raise StopAsyncIteration
        self._room.release()
        return line.decode("utf-8", "replace")

    def _read(self) -> None:
        line = b"-"
        with suppress(RuntimeError, OSError, ValueError):  # the event loop is closed, or the stream
            while line:
                self._room.acquire()
                line = self._stream.readline()
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _claim_stdin() -> BinaryIO:
    """Keep stdin for the protocol: a tool, or a program that it starts, reads nothing there."""
    own = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(own, "rb", closefd=False)
