"""Delays between the attempts of a request."""

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

SECONDS = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)s?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential delays with jitter. Tests replace the clock, the randomness and the sleep function."""

    base_s: float = 0.2
    """Minimum delay before the second attempt, in seconds. Each further delay doubles."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
    wall_clock: Callable[[], float] = time.time

    def delay(self, attempt: int, requested: float | None = None) -> float:
        """Return the seconds to wait after an attempt (the first is 1), at least as many as requested."""
        backoff = self.base_s * (1 << (attempt - 1)) * (1 + self.random() / 2)
        return max(backoff, requested or 0.0)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that the headers of a response request before a retry; None if they do not.

    `Retry-After` holds a number or a date. `Retry-After-Ms`, which some providers send, is more precise.
    """
    milliseconds = parse_seconds(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after", "")
    seconds = parse_seconds(text)
    return seconds if seconds is not None else _seconds_until(text, now)


def parse_seconds(text: str) -> float | None:
    """Parse a number of seconds such as `1.5` or `17s`. Return None if it is invalid."""
    match = SECONDS.fullmatch(text.strip())
    return float(match[1]) if match else None


def _seconds_until(text: str, now: float) -> float | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError, TypeError, IndexError):  # the parser raises any of these
        return None
    return max((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now, 0.0)
