"""The stdio transport: one JSON-RPC message per line."""

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
from .streams import SessionMessage, TransportStreams

MAX_MALFORMED_BYTES = 16 * 2**20
"""Size of malformed output after which the server is stopped."""
CHUNK_BYTES = 2**18
CLOSED_ERRORS = (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError)
ToSession = MemoryObjectSendStream[SessionMessage | Exception]
OnEnd = Callable[[str], None]
"""Receives the reason why the output ended."""


@asynccontextmanager
async def open_stdio(
    start: Callable[[], Awaitable[Process]], log: logging.Logger, on_end: OnEnd, limits: MessageLimits
) -> AsyncIterator[TransportStreams]:
    """Start a process and connect to it. The process is stopped when the block exits.

    Raises:
        ServerUnavailable: The process cannot be started.
    """
    process = await start()
    to_session, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_MessageReader(process, to_session, log, limits).read(on_end)),
        asyncio.create_task(_write_messages(process, from_session)),
        asyncio.create_task(log_stderr(process, log)),
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


class _MessageReader:
    """Forwards messages from stdout to the session and skips malformed lines."""

    def __init__(
        self, process: Process, to_session: ToSession, log: logging.Logger, limits: MessageLimits
    ) -> None:
        self._process, self._to_session, self._log = process, to_session, log
        self._gate = MessageGate(limits)
        self._malformed_bytes = 0

    async def read(self, on_end: OnEnd) -> None:
        """Read until stdout ends and report the reason."""
        reason = ""
        try:
            await self._forward()
        except (MessageTooLong, ServerUnavailable) as error:
            reason = str(error)
        except CLOSED_ERRORS:
            return
        if not reason:
            await has_exited(self._process, EXIT_TIMEOUT_S)
        on_end(reason or exit_reason(self._process))
        await self._to_session.aclose()

    async def _forward(self) -> None:
        stdout = self._process.stdout
        while stdout is not None and (chunk := await stdout.read(CHUNK_BYTES)):
            *ends, rest = chunk.split(b"\n")
            for part in ends:
                self._gate.feed(part)
                if (message := self._parse(self._gate.finish())) is not None:
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


async def _write_messages(process: Process, from_session: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Write the session's messages to stdin. The reader reports a process that has exited."""
    with suppress(*CLOSED_ERRORS):
        async for item in from_session:
            if process.stdin is not None:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                process.stdin.write(text.encode() + b"\n")
                await process.stdin.drain()
