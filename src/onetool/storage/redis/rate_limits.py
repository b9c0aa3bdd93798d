"""Rate limits in Redis, which hold across all replicas."""

import asyncio
import time
from collections.abc import Callable

from onetool.domain.calls.rates import burst_of
from onetool.ports import RateLimiter

from .connection import LuaScript, RedisConnection

LEASES_PER_MINUTE = 60
"""A lease is a second of the rate, but at least one call."""
LEASE_S = 1.0
"""Seconds after which leased calls that were not made are given back."""
MAX_KEYS = 10_000

LEASE = LuaScript("""
local interval, wanted, unused = 60000000 / ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local burst, now = ARGV[4] * interval, tonumber(ARGV[5])
if now < 0 then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
end
local due = tonumber(redis.call('GET', KEYS[1]) or now)
due = math.min(math.max(due - unused * interval, now), now + burst)
local granted = math.min(wanted, math.floor((now + burst + 1000 - due) / interval))
if granted < 0 then granted = 0 end
due = due + granted * interval
if due > now then
    redis.call('SET', KEYS[1], string.format('%.17g', due), 'PX', math.ceil((due - now) / 1000))
else
    redis.call('DEL', KEYS[1])
end
return {granted, math.ceil(due + interval - now - burst)}
""")
"""A leaky bucket (GCRA) as in memory: stores when the last admitted call is due at a steady rate.

Arguments: the rate, the calls to lease, the calls of an earlier lease that were not made, the calls that may
be made at once, and the time in microseconds; a negative one stands for the time of Redis. Returns the leased
calls, and the microseconds until one more is due. A call that is due within a millisecond is due: sums of
intervals are not exact.
"""


class RedisRateLimiter:
    """Leases calls from Redis, a second of the rate at a time: most calls need no request.

    Calls that were leased and not made are given back with the next request for the key. A replica that makes
    no more calls keeps those of one lease. While Redis is away, `fallback` decides.
    """

    def __init__(
        self,
        redis: RedisConnection,
        prefix: str,
        fallback: RateLimiter,
        *,
        clock: Callable[[], float] = time.monotonic,
        redis_clock: Callable[[], float] | None = None,
    ) -> None:
        """prefix: of all keys, different for each workspace.

        redis_clock: seconds; by default, those of Redis, which are the same for all replicas.
        """
        self._redis, self._prefix, self._fallback = redis, prefix, fallback
        self._clock, self._redis_clock = clock, redis_clock
        self._leases: dict[str, _Lease] = {}
        self._max_leases = MAX_KEYS

    async def take(self, key: str, per_minute: int) -> float:
        """Admit a call and return 0, or return the seconds to wait. For bursts, see `burst_of`."""
        lease = self._leases.get(key)
        if lease is None or lease.per_minute != per_minute:
            lease = self._add(key, per_minute)
        wait = lease.take(self._clock())
        return await self._take_with_request(lease, key) if wait is None else wait

    async def _take_with_request(self, lease: "_Lease", key: str) -> float:
        """Lease calls, for all calls that wait for it. One request at a time is sent for a key."""
        lease.waiting += 1
        try:
            async with lease.lock:
                wait = lease.take(self._clock())
                if wait is None:
                    wait = await self._renew(lease, key)
        finally:
            lease.waiting -= 1
        return await self._fallback.take(key, lease.per_minute) if wait is None else wait

    async def _renew(self, lease: "_Lease", key: str) -> float | None:
        """Lease calls and use one. Return 0 or the seconds to wait; None if Redis is away."""
        wanted, unused = max(lease.size, lease.waiting), lease.end()
        now = -1 if self._redis_clock is None else round(self._redis_clock() * 1_000_000)
        args = (lease.per_minute, wanted, unused, str(burst_of(lease.per_minute)), now)
        response = await self._redis.run(LEASE, [self._prefix + key], args)
        if response is None:
            return None
        granted, wait_us = response
        return lease.begin(self._clock(), granted, wait_us / 1_000_000)

    def _add(self, key: str, per_minute: int) -> "_Lease":
        if len(self._leases) >= self._max_leases:
            now = self._clock()
            self._leases = {key: lease for key, lease in self._leases.items() if lease.is_needed(now)}
            self._max_leases = max(MAX_KEYS, 2 * len(self._leases))
        lease = self._leases[key] = _Lease(per_minute)
        return lease


class _Lease:
    """Calls of one key that this process may make without a request, or how long it may make none."""

    __slots__ = ("_left", "_refused_until", "_until", "lock", "per_minute", "waiting")

    def __init__(self, per_minute: int) -> None:
        self.per_minute, self.lock = per_minute, asyncio.Lock()
        self.waiting = 0
        """Calls that wait for the next lease."""
        self._left, self._until, self._refused_until = 0, 0.0, 0.0

    @property
    def size(self) -> int:
        return max(1, self.per_minute // LEASES_PER_MINUTE)

    def take(self, now: float) -> float | None:
        """Use a leased call and return 0; return the seconds to wait, or None if only Redis knows."""
        if self._left and now < self._until:
            self._left -= 1
            return 0.0
        return self._refused_until - now if now < self._refused_until else None

    def begin(self, now: float, calls: int, wait_s: float) -> float:
        """Use one of the leased calls and return 0; if there are none, return the seconds to wait."""
        if not calls:
            self._refused_until = now + wait_s
            return wait_s
        self._left, self._until = calls - 1, now + LEASE_S
        return 0.0

    def end(self) -> int:
        """Return how many calls were leased and not made."""
        unused, self._left = self._left, 0
        return unused

    def is_needed(self, now: float) -> bool:
        return self.waiting > 0 or now < max(self._until, self._refused_until)
