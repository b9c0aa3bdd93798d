"""Rate limits in memory."""

import time
from collections.abc import Callable

from onetool.domain.calls.rates import MINUTE_S, burst_of

MAX_KEYS = 10_000


class MemoryRateLimiter:
    """A leaky bucket (GCRA): stores, per key, when the last admitted call was due at a steady rate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    async def take(self, key: str, per_minute: float) -> float:
        """Admit a call and return 0, or return the seconds to wait. For bursts, see `burst_of`."""
        now, interval = self._clock(), MINUTE_S / per_minute
        burst_s = burst_of(per_minute) * interval
        due = min(max(self._due.get(key, now), now), now + burst_s)  # the rate may have been raised
        wait = due + interval - burst_s - now
        if wait > 1e-9:
            return wait
        if len(self._due) >= MAX_KEYS:
            self._due = {key: due_at for key, due_at in self._due.items() if due_at > now}
        self._due[key] = due + interval
        return 0.0


class RateShare:
    """The part of each rate that one of several replicas admits on its own.

    A share may be less than one call a minute: a limit of 1 among 3 replicas admits a call every 3 minutes at
    each of them. So the rates of all together are the limit, however it is divided; but each may begin with a
    burst of one call.
    """

    def __init__(self, rates: MemoryRateLimiter, replicas: Callable[[], int]) -> None:
        self._rates, self._replicas = rates, replicas

    async def take(self, key: str, per_minute: int) -> float:
        """Admit a call and return 0, or return the seconds to wait."""
        return await self._rates.take(key, per_minute / max(1, self._replicas()))
