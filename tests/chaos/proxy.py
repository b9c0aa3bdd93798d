"""TCP proxies on the loopback interface whose connections can be slow, silent, reset or refused."""

import asyncio
import socket
import struct
from contextlib import suppress
from enum import Enum
from typing import Any

CHUNK = 65_536
SLOW_CHUNK = 512
"""Bytes that a throttled connection forwards at a time."""
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER with which closing a socket sends RST."""


class Mode(Enum):
    """How a link treats its connections."""

    FORWARD = "forward"
    DELAY = "delay"
    """Each piece arrives later."""
    THROTTLE = "throttle"
    """Only a few bytes per second arrive."""
    DROP = "drop"
    """Nothing arrives, and nothing is closed. New connections are accepted."""
    REFUSE = "refuse"
    """New connections are closed at once, and open ones are reset."""


class Link:
    """A proxy before one target. Its mode applies to all connections, also those that are open."""

    def __init__(self, target: int) -> None:
        self.target, self.port = target, 0
        self.delay_s, self.bytes_per_s = 0.05, 8_192
        self.mode = Mode.FORWARD
        self._may_pass = asyncio.Event()
        self._may_pass.set()
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> "Link":
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def close(self) -> None:
        """End all connections and stop listening."""
        self._server.close()
        self.reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def set_mode(self, mode: Mode) -> None:
        """Change how connections are treated."""
        self.mode = mode
        if mode is Mode.DROP:
            self._may_pass.clear()
        else:
            self._may_pass.set()
        if mode is Mode.REFUSE:
            self.reset()

    def reset(self) -> None:
        """Reset all open connections, on both sides."""
        for writer in list(self._open):
            _reset(writer)

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._open) // 2

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode is Mode.REFUSE:
            _reset(writer)
            return
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with suppress(asyncio.CancelledError):  # the link is closed
            await self._forward(reader, writer)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._open.add(writer)
        try:
            await self._may_pass.wait()
            answers, target = await asyncio.open_connection("127.0.0.1", self.target)
            ends.add(target)
            self._open.add(target)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._copy(reader, target))
                group.create_task(self._copy(answers, writer))
        except* OSError:
            for end in ends:
                _reset(end)
        finally:
            for end in ends:
                self._open.discard(end)
                end.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(SLOW_CHUNK if self.mode is Mode.THROTTLE else CHUNK):
            if self.mode is Mode.DELAY:
                await asyncio.sleep(self.delay_s)
            elif self.mode is Mode.THROTTLE:
                await asyncio.sleep(len(data) / self.bytes_per_s)
            await self._may_pass.wait()
            writer.write(data)
            await writer.drain()
        await self._may_pass.wait()
        with suppress(OSError):
            writer.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with RST, so that the other side notices at once."""
    connection = writer.get_extra_info("socket")
    with suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    writer.transport.abort()
