"""Text lines over a stream connection."""

import asyncio

CHUNK_BYTES = 2**16


class ConnectionLines:
    """Lines of a stream connection. A line over the limit ends it."""

    def __init__(self, reader: asyncio.StreamReader, max_bytes: int) -> None:
        self._reader, self._max_bytes, self._buffer = reader, max_bytes, bytearray()

    def __aiter__(self) -> "ConnectionLines":
        return self

    async def __anext__(self) -> str:
        while (end := self._buffer.find(b"\n")) < 0:
            chunk = await self._reader.read(CHUNK_BYTES)
            if not chunk or len(self._buffer) > self._max_bytes:
                raise StopAsyncIteration
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line.decode("utf-8", "replace")


class ConnectionOutput:
    """The output of a stream connection."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def write(self, text: str) -> None:
        """Write a text and wait until the client can take more."""
        self._writer.write(text.encode("utf-8", "replace"))
        await self._writer.drain()

    async def flush(self) -> None:
        """Do nothing: `write` has already sent the text."""
