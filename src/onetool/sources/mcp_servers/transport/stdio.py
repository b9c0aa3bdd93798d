"""The stdio transport: one JSON-RPC message per line. Also over a connection to another OneTool."""

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp_types import jsonrpc_message_adapter

from onetool.sources.mcp_servers.errors import ServerUnavailable

from .message_gate import MessageGate, MessageLimits, MessageTooLong
from .process import EXIT_TIMEOUT_S, exit_reason, has_exited, log_stderr, shorten_line, stop
from .startup import Startup
from .streams import SessionMessage, TransportStreams

MAX_MALFORMED_BYTES = 16 * 2**20
"""Size of malformed output after which the server is stopped."""
CHUNK_BYTES = 2**18
CLOSED_ERRORS = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)
ToSession = MemoryObjectSendStream[SessionMessage | Exception]
OnEnd = Callable[[str], None]
"""Receives the reason why the output ended."""
StreamConnection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def open_stdio(
    start: Callable[[], Awaitable[Process]],
    log: logging.Logger,
    on_end: OnEnd,
    limits: MessageLimits,
    startup: Startup,
) -> AsyncIterator[TransportStreams]:
    """Start a process and connect to it. The process is stopped when the block exits.

    Raises:
        ServerUnavailable: The process cannot be started.
    """
    process = await start()
    stderr = asyncio.create_task(log_stderr(process, log, startup))

    async def describe_end() -> str:
        await has_exited(process, EXIT_TIMEOUT_S)
        await asyncio.wait({stderr}, timeout=EXIT_TIMEOUT_S)  # its last lines may explain the end
        return startup.explain(exit_reason(process))

    try:
        async with _open_streams(
            process.stdout, process.stdin, log, limits, on_end=on_end, describe_end=describe_end
        ) as streams:
            yield streams
    finally:
        try:
            await stop(process)
        finally:
            stderr.cancel()
            await asyncio.gather(stderr, return_exceptions=True)


@asynccontextmanager
async def open_connection(
    connection: StreamConnection, log: logging.Logger, on_end: OnEnd, limits: MessageLimits
) -> AsyncIterator[TransportStreams]:
    """Use a connection to a server that another process of the user runs."""
    reader, writer = connection

    async def describe_end() -> str:
        return "OneTool in the background closed the connection"

    try:
        async with _open_streams(
            reader, writer, log, limits, on_end=on_end, describe_end=describe_end
        ) as streams:
            yield streams
    finally:
        writer.close()


@asynccontextmanager
async def _open_streams(
    output: asyncio.StreamReader | None,
    input_: asyncio.StreamWriter | None,
    log: logging.Logger,
    limits: MessageLimits,
    *,
    on_end: OnEnd,
    describe_end: Callable[[], Awaitable[str]],
) -> AsyncIterator[TransportStreams]:
    """Forward messages in both directions until the block exits."""
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    reader = _MessageReader(output, to_session, log, limits)
    tasks = [
        asyncio.create_task(reader.read(on_end, describe_end)),
        asyncio.create_task(_write_messages(input_, from_session)),
    ]
    try:
        async with AsyncExitStack() as closing:
            for stream in (to_session, incoming, outgoing, from_session):
                closing.push_async_callback(stream.aclose)
            yield incoming, outgoing
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _MessageReader:
    """Forwards messages from a server's output to the session and skips malformed lines."""

    def __init__(
        self,
        output: asyncio.StreamReader | None,
        to_session: ToSession,
        log: logging.Logger,
        limits: MessageLimits,
    ) -> None:
        self._output, self._to_session, self._log = output, to_session, log
        self._gate = MessageGate(limits)
        self._malformed_bytes = 0

    async def read(self, on_end: OnEnd, describe_end: Callable[[], Awaitable[str]]) -> None:
        """Read until the output ends and report the reason."""
        reason = ""
        try:
            await self._forward()
        except (MessageTooLong, ServerUnavailable) as error:
            reason = str(error)
        except CLOSED_ERRORS:
            return
        on_end(reason or await describe_end())
        await self._to_session.aclose()

    async def _forward(self) -> None:
        while self._output is not None and (chunk := await self._output.read(CHUNK_BYTES)):
            *ends, rest = chunk.split(b"\n")
            for part in ends:
                self._gate.feed(part)
                if (message := self._parse(self._gate.finish() or b"")) is not None:
                    await self._to_session.send(message)
            self._gate.feed(rest)

    def _parse(self, line: bytes) -> SessionMessage | None:
        if line.lstrip().startswith(b"{"):
            with suppress(ValueError):
                return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        if line.strip():
            self._count_malformed(line)
        return None

    def _count_malformed(self, line: bytes) -> None:
        if not self._malformed_bytes:
            self._log.warning("malformed lines on stdout, first: %r", shorten_line(line))
        self._malformed_bytes += len(line)
        if self._malformed_bytes > MAX_MALFORMED_BYTES:
            raise ServerUnavailable(
                f"the server wrote more than {MAX_MALFORMED_BYTES} bytes of malformed output"
            )


async def _write_messages(
    input_: asyncio.StreamWriter | None, from_session: MemoryObjectReceiveStream[SessionMessage]
) -> None:
    """Write the session's messages to the server's input. The reader reports an end of the connection."""
    with suppress(*CLOSED_ERRORS):
        async for item in from_session:
            if input_ is not None:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                input_.write(text.encode() + b"\n")
                await input_.drain()
