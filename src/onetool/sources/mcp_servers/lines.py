"""Lines out of chunks, each looked at once however long a line becomes."""

from collections.abc import Iterator


class TooLong(ValueError):
    """A line is longer than anybody should send."""


class Lines:
    """Takes chunks, gives whole lines."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that a chunk completes.

        Raises TooLong.
        """
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._add(part)
            yield b"".join(self._parts)
            self._parts, self._size = [], 0
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._longest:
            raise TooLong(f"it sent a message of more than {self._longest} bytes")
        if part:
            self._parts.append(part)
