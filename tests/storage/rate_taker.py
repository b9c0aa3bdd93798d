"""A process that takes as many calls as a rate limit in Redis admits, for some seconds after a line on stdin.

Prints a line when it is ready, and then how many calls were admitted and when the last one was.
"""

import asyncio
import sys
import time

from onetool.storage.memory.rate_limits import MemoryRateLimiter
from onetool.storage.redis.connection import RedisConnection
from onetool.storage.redis.rate_limits import RedisRateLimiter

PAUSE_S = 0.02
"""Between attempts, with which each of three processes offers more than its part of the rate."""


async def main(url: str, prefix: str, per_minute: int, seconds: float) -> None:
    redis = RedisConnection(url, timeout_s=60)
    limiter = RedisRateLimiter(redis, prefix, MemoryRateLimiter())
    await redis.check()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    admitted, last, end = 0, time.time(), time.monotonic() + seconds
    while time.monotonic() < end:
        if await limiter.take("calls", per_minute) == 0:
            admitted, last = admitted + 1, time.time()
        await asyncio.sleep(PAUSE_S)
    await redis.aclose()
    print(admitted, last, redis.failures, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
