"""Messages with a program over its input and output, one JSON object a line."""

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp_types import jsonrpc_message_adapter

from onetool.domain.texts import cut

from .failure import Down
from .lines import Lines, TooLong
from .process import PATIENCE, has_ended, how_it_ended, stop
from .streams import SessionMessage, TransportStreams

LONGEST_MESSAGE = 64 * 2**20
MOST_RUBBISH = 16 * 2**20
"""Bytes that are no messages, after which the program is given up."""
CHUNK = 2**18
SHOWN = 500
GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)
ToSession = MemoryObjectSendStream[SessionMessage | Exception]
End = Callable[[str], None]
"""Told why nothing more will come."""


@asynccontextmanager
async def open_stdio(
    start: Callable[[], Awaitable[Process]], log: logging.Logger, end: End
) -> AsyncIterator[TransportStreams]:
    """Start a program and talk with it; it is gone when the block ends.

    Raises Down when it cannot be started.
    """
    process = await start()
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_Reader(process, to_session, log).read(end)),
        asyncio.create_task(_write(process, from_session)),
        asyncio.create_task(_log_stderr(process, log)),
    ]
    try:
        async with AsyncExitStack() as closing:
            for stream in (to_session, incoming, outgoing, from_session):
                closing.push_async_callback(stream.aclose)
            yield incoming, outgoing
    finally:
        try:
            await stop(process)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _Reader:
    """Hands on what the program says, and passes over what is no message."""

    def __init__(self, process: Process, to_session: ToSession, log: logging.Logger) -> None:
        self._process, self._to_session, self._log = process, to_session, log
        self._lines = Lines(LONGEST_MESSAGE)
        self._rubbish = 0

    async def read(self, end: End) -> None:
        """Read to the end of the output, and say why there is one."""
        reason = ""
        try:
            await self._hand_on()
        except (TooLong, Down) as error:
            reason = str(error)
        except GONE:
            return
        if not reason:
            await has_ended(self._process, PATIENCE)
        end(reason or how_it_ended(self._process))
        await self._to_session.aclose()

    async def _hand_on(self) -> None:
        output = self._process.stdout
        while output is not None and (chunk := await output.read(CHUNK)):
            for line in self._lines.feed(chunk):
                if (message := self._parse(line)) is not None:
                    await self._to_session.send(message)

    def _parse(self, line: bytes) -> SessionMessage | None:
        if line.lstrip().startswith(b"{"):
            with suppress(ValueError):
                return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        if line.strip():
            self._count(line)
        return None

    def _count(self, line: bytes) -> None:
        if not self._rubbish:
            shown = cut(line[: 2 * SHOWN].decode("utf-8", "replace"), SHOWN)
            self._log.warning("writes what is no message to its output, first: %r", shown)
        self._rubbish += len(line)
        if self._rubbish > MOST_RUBBISH:
            raise Down(f"it wrote more than {MOST_RUBBISH} bytes that are no messages to its output")


async def _write(process: Process, from_session: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Send what the session says; a program that has gone is noticed by the reader."""
    with suppress(*GONE):
        async for item in from_session:
            if process.stdin is not None:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()


async def _log_stderr(process: Process, log: logging.Logger) -> None:
    while process.stderr is not None:
        try:
            line = await process.stderr.readline()
        except ValueError:  # longer than the buffer: passed over
            continue
        if not line:
            return
        if text := line[: 2 * SHOWN].decode("utf-8", "replace").rstrip():
            log.info("%s", cut(text, SHOWN))
