"""The limit of notifications from one server."""

import logging
import re
import time
from collections import Counter
from collections.abc import Callable

MAX_PER_SECOND = 100
"""Notifications of each kind that a server can send within a second."""
UNPARSED_FACTOR = 2
"""Above this many times the limit, notifications are dropped before they are parsed."""
LIST_CHANGED = {
    f"notifications/{items}/list_changed": f"notices of changed {items}"
    for items in ("tools", "resources", "prompts")
}
KINDS = {
    "notifications/message": "log messages",
    "notifications/progress": "progress reports",
    **LIST_CHANGED,
}
"""Kinds with a limit of their own, so that a flood of others does not hide them."""
NOTICES = "notices"
"""All other notifications."""
METHOD = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:\s*"(notifications/[\w/]{1,100})"'
)


class NotificationLimit:
    """Counts the notifications of one session within a second, and everything that is dropped."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock = log, clock
        self._second = int(clock())
        self._received, self._delivered, self._dropped = Counter[str](), Counter[str](), Counter[str]()

    def overflows(self, message: bytes) -> bool:
        """Return whether a message that is not parsed yet is a notification far above the limit."""
        if (found := METHOD.match(message)) is None:
            return False
        kind = _kind(found.group(1).decode())
        is_above = self._count(self._received, kind) > UNPARSED_FACTOR * MAX_PER_SECOND
        if is_above:
            self.drop(kind)
        return is_above

    def allows(self, method: str) -> bool:
        """Return whether a notification is within the limit."""
        return self._count(self._delivered, _kind(method)) <= MAX_PER_SECOND

    def drop_notification(self, method: str) -> None:
        """Count a notification that is not delivered."""
        self.drop(_kind(method))

    def drop(self, kind: str) -> None:
        """Count something that the server sent in vain. The first of a kind is logged."""
        if kind not in self._dropped:
            self._log.warning("too many or too large %s; their number follows when the session ends", kind)
        self._dropped[kind] += 1

    def report(self) -> None:
        """Log the numbers of a session that has ended."""
        if self._dropped:
            counts = ", ".join(f"{count:,} {kind}" for kind, count in self._dropped.items())
            self._log.warning("dropped during the session: %s", counts)

    def _count(self, counts: "Counter[str]", kind: str) -> int:
        if (second := int(self._clock())) != self._second:
            self._second = second
            self._received.clear()
            self._delivered.clear()
        counts[kind] += 1
        return counts[kind]


def _kind(method: str) -> str:
    return KINDS.get(method, NOTICES)
