"""When a request is sent again, and how long that waits."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
"""Methods that do the same when they are done twice."""
PASSING = frozenset({429, 502, 503, 504})
"""Statuses that may be over soon."""
RETRIES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How time passes between attempts; tests bring their own."""

    base: float = 0.2
    """Seconds before the second attempt at least; each further gap doubles."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
    wall: Callable[[], float] = time.time

    def gap(self, attempt: int, retry_after: str | None) -> float:
        """Seconds to wait after this attempt, the first being 1; never less than the server asks for."""
        own = self.base * (1 << (attempt - 1)) * (1 + self.random() / 2)
        return max(own, self._asked(retry_after))

    def _asked(self, retry_after: str | None) -> float:
        """`Retry-After` is a number of seconds or a date; anything else says nothing."""
        text = (retry_after or "").strip()
        if text.isascii() and text.isdecimal():
            return float(text[:9])
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, OverflowError, TypeError, IndexError):  # its parser raises all of them
            return 0.0
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - self.wall()
