"""Response bodies of streamable HTTP, with limits for each message."""

from collections.abc import AsyncIterator, Iterator

import anyio
import httpx2

from onetool.sources.mcp_servers.errors import describe

from .message_gate import MessageGate, MessageLimits, MessageTooLong

MAX_FIELD_BYTES = 64 * 2**10
"""Maximum length of the fields of an event other than its data."""
DATA = b"data:"


class LimitedBody(httpx2.AsyncByteStream):
    """The body of a response, which ends when the request is cancelled."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream, self._reading = stream, anyio.CancelScope()
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the body: no one waits for it any more, and the server may never end it."""
        self._is_cancelled = True
        self._reading.cancel()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield what arrives.

        Raises:
            StreamError: The request was cancelled, or the connection failed.
        """
        arriving = aiter(self._stream)
        chunk: bytes | None = b""
        while chunk is not None and not self._is_cancelled:
            yield chunk
            with anyio.CancelScope() as self._reading:
                try:
                    chunk = await anext(arriving, None)
                except httpx2.TransportError as error:
                    raise httpx2.StreamError(describe(error)) from error
        if self._is_cancelled:
            raise httpx2.StreamError("the request was cancelled")

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()


class LimitedJson(LimitedBody):
    """A body that is one message: the response to a request."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, limits: MessageLimits, request_id: int | str | None
    ) -> None:
        super().__init__(stream)
        self._limits, self._request_id = limits, request_id

    async def __aiter__(self) -> AsyncIterator[bytes]:
        gate = MessageGate(self._limits)
        try:
            async for chunk in self.chunks():
                gate.feed(chunk)
        except MessageTooLong as error:
            raise httpx2.StreamError(str(error)) from error
        yield gate.finish(self._request_id) or b""


class LimitedEvents(LimitedBody):
    """Server-sent events, each with one message as its data."""

    def __init__(self, stream: httpx2.AsyncByteStream, limits: MessageLimits) -> None:
        super().__init__(stream)
        self._gate = MessageGate(limits)
        self._fields: list[bytes] = []
        self._line = b""
        self._is_data = self._has_data = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self.chunks():
                *ends, rest = chunk.split(b"\n")
                for part in ends:
                    self._add(part)
                    for event in self._end_line():
                        yield event
                self._add(rest)
        except MessageTooLong as error:
            raise httpx2.StreamError(str(error)) from error

    def _add(self, part: bytes) -> None:
        if self._is_data:
            self._gate.feed(part)
            return
        self._line += part
        if self._line.startswith(DATA):
            self._gate.feed((b"\n" if self._has_data else b"") + self._line[len(DATA) :])
            self._line, self._is_data, self._has_data = b"", True, True
        elif len(self._line) + sum(map(len, self._fields)) > MAX_FIELD_BYTES:
            raise MessageTooLong(f"the server sent an event with fields of more than {MAX_FIELD_BYTES} bytes")

    def _end_line(self) -> Iterator[bytes]:
        """Yield the event that an empty line ends."""
        line = self._line.strip(b"\r")
        if line:
            self._fields.append(line)
        elif not self._is_data:
            yield from self._end_event()
        self._line, self._is_data = b"", False

    def _end_event(self) -> Iterator[bytes]:
        data, fields = self._gate.finish(), self._fields
        if data is not None and self._has_data:
            fields = [*fields, DATA + data.replace(b"\r", b"").replace(b"\n", b"\ndata:")]
        if data is not None and fields:
            yield b"\n".join([*fields, b"", b""])
        self._fields, self._has_data = [], False
