"""Response bodies of streamable HTTP, with limits for each message."""

from collections.abc import AsyncIterator, Iterator

import httpx2

from onetool.sources.mcp_servers.errors import describe

from .message_gate import MessageGate, MessageLimits, MessageTooLong

MAX_FIELD_BYTES = 64 * 2**10
"""Maximum length of the fields of an event other than its data."""
DATA = b"data:"


class LimitedJson(httpx2.AsyncByteStream):
    """A body that is one message: the response to a request."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, limits: MessageLimits, request_id: int | str | None
    ) -> None:
        self._stream, self._limits, self._request_id = stream, limits, request_id

    async def __aiter__(self) -> AsyncIterator[bytes]:
        gate = MessageGate(self._limits)
        try:
            async for chunk in self._stream:
                gate.feed(chunk)
        except MessageTooLong as error:
            raise httpx2.StreamError(str(error)) from error
        except httpx2.TransportError as error:
            raise httpx2.StreamError(describe(error)) from error
        yield gate.finish(self._request_id)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()


class LimitedEvents(httpx2.AsyncByteStream):
    """Server-sent events, each with one message as its data."""

    def __init__(self, stream: httpx2.AsyncByteStream, limits: MessageLimits) -> None:
        self._stream = stream
        self._gate = MessageGate(limits)
        self._fields: list[bytes] = []
        self._line = b""
        self._is_data = self._has_data = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._stream:
                *ends, rest = chunk.split(b"\n")
                for part in ends:
                    self._add(part)
                    for event in self._end_line():
                        yield event
                self._add(rest)
        except MessageTooLong as error:
            raise httpx2.StreamError(str(error)) from error
        except httpx2.TransportError as error:
            raise httpx2.StreamError(describe(error)) from error

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

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
            data = self._gate.finish().replace(b"\r", b"").replace(b"\n", b"\ndata:")
            fields = [*self._fields, DATA + data] if self._has_data else self._fields
            if fields:
                yield b"\n".join([*fields, b"", b""])
            self._fields, self._has_data = [], False
        self._line, self._is_data = b"", False
