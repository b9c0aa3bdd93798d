"""How often each tool was called lately, in this process."""

import time
from collections.abc import Callable

MINUTE = 60.0
KEPT = 10_000


class MemoryRates:
    """One number for each key: when the last call that was let in would have come at a steady pace."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    def take(self, key: str, per_minute: int) -> float:
        """Take one call: as many at once as a minute has, then one after the other."""
        now, pace = self._clock(), MINUTE / per_minute
        due = max(self._due.get(key, now), now)
        wait = due + pace - MINUTE - now
        if wait > 1e-9:
            return wait
        if len(self._due) >= KEPT:
            self._due = {one: at for one, at in self._due.items() if at > now}
        self._due[key] = due + pace
        return 0.0
