"""Limits of incoming messages, checked while they arrive: a message above them is never parsed.

Parsing a message with a million values would block the event loop for seconds, even on another thread.
"""

import re
from dataclasses import dataclass
from itertools import accumulate

from .notification_limit import NotificationLimit
from .rejected_message import EDGE_BYTES, replace_message

MAX_FACTOR = 16
"""A message that is this many times larger than allowed ends the session: it may never end."""
MAX_NESTING = 200
"""Levels that the JSON parser of the SDK accepts. Results and definitions have a lower limit."""
SETTING = " in the settings of the server, or in `execution`"
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
BRACKETS = b"[{]}"
STEPS = bytes.maketrans(BRACKETS, b"\x01\x01\xff\xff")
"""Translates brackets to signed bytes: one level more or less."""
OTHER_BYTES = bytes(byte for byte in range(256) if byte not in BRACKETS)


class MessageTooLong(ValueError):
    """A message far exceeds the limit. The message of the error is a fragment without a full stop."""


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """The limits of one server."""

    max_bytes: int
    max_values: int
    notifications: NotificationLimit


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
        self._count(part)
        self._problem = self._check()
        if self._problem:
            message = b"".join(self._parts)
            self._start, self._end = message[:EDGE_BYTES], message[-EDGE_BYTES:]
            self._parts.clear()

    def finish(self, request_id: int | str | None = None) -> bytes | None:
        """Return the message, or the one that replaces it, and start the next message.

        None stands for a notification far above the limit, which is dropped.

        request_id: the request to which the message responds, if it is known.
        """
        if self._problem:
            message = replace_message(self._start, self._end, self._problem, request_id)
        else:
            message = b"".join(self._parts)
        self._reset()
        return None if self._limits.notifications.overflows(message) else message

    def _reset(self) -> None:
        self._parts = []
        self._size, self._values = 0, 1
        self._depth = self._max_depth = 0
        self._is_in_string = self._is_escaped = False
        self._problem = ""

    def _check(self) -> str:
        """Return which limit is exceeded, or an empty string."""
        limits = self._limits
        if self._size > limits.max_bytes:
            return f"of more than {limits.max_bytes:,} bytes. Raise max_message_bytes{SETTING}"
        if self._values > limits.max_values:
            return f"of more than {limits.max_values:,} values. Raise max_message_values{SETTING}"
        if self._max_depth > MAX_NESTING:
            return f"that is nested deeper than {MAX_NESTING} levels"
        return ""

    def _count(self, part: bytes) -> None:
        """Count separators, containers and levels outside of strings."""
        if self._is_escaped:
            part, self._is_escaped = part[1:], not part
        if self._is_in_string:
            part = self._skip_string(part)
        outside = STRING.sub(b"", part)
        start = outside.find(b'"')
        if start >= 0:
            self._open_string(outside[start + 1 :])
            outside = outside[:start]
        self._values += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        steps = memoryview(outside.translate(STEPS, OTHER_BYTES)).cast("b")
        depths = list(accumulate(steps, initial=self._depth))
        self._depth, self._max_depth = depths[-1], max(self._max_depth, max(depths))

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
