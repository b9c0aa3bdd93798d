"""Leases of calls in Redis: as many as a tool may have at all replicas together."""

import asyncio
from contextlib import asynccontextmanager

from onetool.storage.redis import call_leases
from onetool.storage.redis.call_leases import RedisCallLeases
from onetool.storage.redis.connection import RedisConnection
from support.waiting import HANG_S, until


@asynccontextmanager
async def replicas(count, url, prefix, **options):
    connections = [RedisConnection(url, timeout_s=HANG_S) for _ in range(count)]
    try:
        yield [RedisCallLeases(connection, prefix, **options) for connection in connections]
    finally:
        for connection in connections:
            await connection.aclose()


async def taken(leases, key="a"):
    """Return how many leases Redis counts."""
    return await leases._redis._redis.zcard(leases._prefix + key)


async def given_back(leases):
    while leases._requests:
        await asyncio.gather(*leases._requests)


async def test_replicas_take_as_many_leases_as_there_are(redis_url, redis_prefix):
    async with replicas(3, redis_url, redis_prefix) as found:
        results = await asyncio.gather(*(leases.take("a", 4) for leases in found for _ in range(5)))
        assert results.count(True) == 4
        assert await found[0].take("b", 1)


async def test_lease_that_is_given_back_is_free_for_others(redis_url, redis_prefix):
    async with replicas(2, redis_url, redis_prefix) as (first, second):
        assert await first.take("a", 1)
        assert not await second.take("a", 1)
        first.give_back("a")
        await given_back(first)
        assert await second.take("a", 1)
        assert await second.take("a", 2)


async def test_lease_of_a_replica_that_was_killed_ends(redis_url, redis_prefix):
    async with replicas(2, redis_url, redis_prefix, lease_s=0.2) as (killed, other):
        assert await killed.take("a", 1)
        killed._renewal.cancel()
        async with asyncio.timeout(HANG_S):
            while not await other.take("a", 1):
                await asyncio.sleep(0.01)


async def test_lease_is_renewed_while_its_call_runs(redis_url, redis_prefix):
    """Also one that has ended, because Redis was away for too long or was restarted."""
    async with replicas(1, redis_url, redis_prefix, lease_s=0.3) as (leases,):
        assert await leases.take("a", 2)
        assert await leases.take("a", 2)
        sent = leases._redis.requests
        await leases._redis._redis.delete(redis_prefix + "a")
        await until(lambda: leases._redis.requests >= sent + 2 * call_leases.RENEWALS_PER_LEASE)
        assert await taken(leases) == 2
        leases.give_back("a")
        leases.give_back("a")
        await given_back(leases)
        assert (await taken(leases), leases._renewal) == (0, None)


async def test_calls_are_not_counted_while_redis_is_away(own_redis):
    own_redis.kill()
    async with replicas(1, own_redis.url, "t:", lease_s=0.1) as (leases,):
        assert [await leases.take("a", 1) for _ in range(3)] == [True] * 3
        own_redis.start()
        for _ in range(3):
            leases.give_back("a")
        assert (leases._requests, dict(leases._held)) == (set(), {})
