"""Leases of calls in progress in Redis, which are counted across all replicas."""

import asyncio
from collections import defaultdict
from secrets import token_hex
from typing import Any

from .connection import LuaScript, RedisConnection

LEASE_S = 15.0
"""Seconds after which the lease of a replica that was killed ends."""
RENEWALS_PER_LEASE = 3

NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
TAKE = LuaScript(f"""{NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
""")
"""Arguments: how many leases there may be, their milliseconds, and the name of this one."""
RENEW = LuaScript(f"""{NOW}
for index = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[index]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
""")
"""Arguments: milliseconds, and the names of leases. Those that ended begin again: their calls still run."""
GIVE_BACK = LuaScript("return redis.call('ZREM', KEYS[1], ARGV[1])")


class RedisCallLeases:
    """Takes a lease for each call, and renews it while the call runs. While Redis is away, nothing counts."""

    def __init__(self, redis: RedisConnection, prefix: str, *, lease_s: float = LEASE_S) -> None:
        """prefix: of all keys, different for each workspace."""
        self._redis, self._prefix, self._lease_s = redis, prefix, lease_s
        self._held: defaultdict[str, list[str]] = defaultdict(list)
        """The names of the leases of this process by key; empty ones were taken while Redis was away."""
        self._renewal: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[Any]] = set()

    async def take(self, key: str, size: int) -> bool:
        """Take a lease if fewer than `size` are taken, or if Redis is away."""
        name = token_hex(8)
        is_free = await self._redis.run(TAKE, [self._prefix + key], (size, self._lease_ms, name))
        if is_free == 0:
            return False
        self._held[key].append(name if is_free else "")
        if self._renewal is None:
            self._renewal = asyncio.get_running_loop().create_task(self._renew())
        return True

    def give_back(self, key: str) -> None:
        """Give one of the leases of a key back."""
        names = self._held[key]
        name = names.pop()
        if not names:
            del self._held[key]
        if not self._held and self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None
        if name:
            request = self._redis.run(GIVE_BACK, [self._prefix + key], [name])
            task = asyncio.get_running_loop().create_task(request)
            self._requests.add(task)
            task.add_done_callback(self._requests.discard)

    @property
    def _lease_ms(self) -> int:
        return int(self._lease_s * 1000)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._lease_s / RENEWALS_PER_LEASE)
            for key, names in list(self._held.items()):
                if held := [name for name in names if name]:
                    await self._redis.run(RENEW, [self._prefix + key], [self._lease_ms, *held])
