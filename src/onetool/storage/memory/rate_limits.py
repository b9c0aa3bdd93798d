"""Rate limits in memory."""

import time
from collections.abc import Callable

MINUTE_S = 60.0
MAX_KEYS = 10_000


class MemoryRateLimiter:
    """A leaky bucket (GCRA): stores, per key, when the last admitted call was due at a steady rate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    async def take(self, key: str, per_minute: int) -> float:
        """Admit a call and return 0, or return the seconds to wait. Allows bursts of `per_minute` calls."""
        now, interval = self._clock(), MINUTE_S / per_minute
        due = max(self._due.get(key, now), now)
        wait = due + interval - MINUTE_S - now
        if wait > 1e-9:
            return wait
        if len(self._due) >= MAX_KEYS:
            self._due = {key: due_at for key, due_at in self._due.items() if due_at > now}
        self._due[key] = due + interval
        return 0.0
