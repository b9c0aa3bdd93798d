"""A buffer that splits chunks into lines, in linear time for lines of any length."""

from collections.abc import Iterator


class MessageTooLong(ValueError):
    """A line exceeds the size limit. The message is a fragment without a full stop."""


class LineBuffer:
    """Collects chunks and yields complete lines."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that a chunk completes.

        Raises:
            MessageTooLong: A line exceeds the size limit.
        """
        *ends, rest = chunk.split(b"\n")
        for part in ends:
            self._add(part)
            yield b"".join(self._parts)
            self._parts, self._size = [], 0
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._max_bytes:
            raise MessageTooLong(f"the server sent a message of more than {self._max_bytes} bytes")
        if part:
            self._parts.append(part)
