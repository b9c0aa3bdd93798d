"""Limits of incoming messages, checked while they arrive: a message above them is never parsed.

Parsing a message with a million values would block the event loop for seconds, even on another thread.
"""

import re
from dataclasses import dataclass
from typing import Any

import orjson

MESSAGE_TOO_LARGE = -32096
"""JSON-RPC error code of the response that replaces a message above the limits."""
MAX_FACTOR = 16
"""A message that is this many times larger than allowed ends the session: it may never end."""
EDGE_BYTES = 1_024
"""Bytes at the start and at the end of a large message in which its id is looked for."""
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
ID = rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{0,200}")'
FIRST_ID = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + ID)
LAST_ID = re.compile(ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


class MessageTooLong(ValueError):
    """A message far exceeds the limit. The message of the error is a fragment without a full stop."""


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """The limits of one server."""

    max_bytes: int
    max_values: int


class MessageGate:
    """Collects the parts of a message. Above the limits, only its start and its end are kept."""

    def __init__(self, limits: MessageLimits) -> None:
        self._limits = limits
        self._parts: list[bytes] = []
        self._start = self._end = b""
        self._problem: str
        self._reset()

    def feed(self, part: bytes) -> None:
        """Add a part of the current message.

        Raises:
            MessageTooLong: The message is so large that it may never end.
        """
        self._size += len(part)
        if self._size > MAX_FACTOR * self._limits.max_bytes:
            limit = MAX_FACTOR * self._limits.max_bytes
            raise MessageTooLong(f"the server sent a message of more than {limit} bytes")
        if self._problem:
            self._end = (self._end + part)[-EDGE_BYTES:]
            return
        self._parts.append(part)
        self._values += self._count_values(part)
        self._problem = self._check()
        if self._problem:
            message = b"".join(self._parts)
            self._start, self._end = message[:EDGE_BYTES], message[-EDGE_BYTES:]
            self._parts.clear()

    def finish(self, request_id: int | str | None = None) -> bytes:
        """Return the message, or the error response that replaces it, and start the next message.

        Without a request id, the id is read from the message. If it has none, neither has the response, and
        the request ends with its deadline.
        """
        message = self._error_response(request_id) if self._problem else b"".join(self._parts)
        self._reset()
        return message

    def _reset(self) -> None:
        self._parts = []
        self._size, self._values = 0, 1
        self._is_in_string = self._is_escaped = False
        self._problem = ""

    def _check(self) -> str:
        """Return which limit is exceeded, or an empty string."""
        limits = self._limits
        if self._size > limits.max_bytes:
            return f"more than {limits.max_bytes:,} bytes. Raise max_message_bytes"
        if self._values > limits.max_values:
            return f"more than {limits.max_values:,} values. Raise max_message_values"
        return ""

    def _count_values(self, part: bytes) -> int:
        """Return the number of separators and containers outside of strings."""
        if self._is_escaped:
            part, self._is_escaped = part[1:], not part
        if self._is_in_string:
            part = self._skip_string(part)
        outside = STRING.sub(b"", part)
        start = outside.find(b'"')
        if start >= 0:
            self._open_string(outside[start + 1 :])
            outside = outside[:start]
        return outside.count(b",") + outside.count(b"[") + outside.count(b"{")

    def _skip_string(self, part: bytes) -> bytes:
        """Return what follows the open string."""
        rest = REST_OF_STRING.match(part)
        end = rest.end() if rest else 0
        self._is_in_string = part[end : end + 1] != b'"'
        self._is_escaped = part[end : end + 1] == b"\\"
        return b"" if self._is_in_string else part[end + 1 :]

    def _open_string(self, rest: bytes) -> None:
        self._is_in_string = True
        self._is_escaped = (len(rest) - len(rest.rstrip(b"\\"))) % 2 == 1

    def _error_response(self, id_: int | str | None) -> bytes:
        found = FIRST_ID.match(self._start) or LAST_ID.search(self._end)
        if id_ is None and found:
            id_ = orjson.loads(found.group(1))
        text = f"The server sent a message of {self._problem} in the settings of the server."
        error: dict[str, Any] = {"code": MESSAGE_TOO_LARGE, "message": text}
        return orjson.dumps({"jsonrpc": "2.0", "id": id_, "error": error})
