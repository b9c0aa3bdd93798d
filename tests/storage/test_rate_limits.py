"""Rate limits in memory, as a share of several replicas, and in Redis."""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager

import pytest

from onetool.domain.calls.rates import burst_of
from onetool.domain.errors import SettingsError
from onetool.ports import RateLimiter
from onetool.storage.memory.rate_limits import MemoryRateLimiter, RateShare
from onetool.storage.redis import rate_limits
from onetool.storage.redis.connection import PAUSE_S, RedisConnection
from onetool.storage.redis.rate_limits import RedisRateLimiter
from storage import rate_taker
from support.redis_server import RedisServer
from support.waiting import HANG_S, until

LIMIT = 600
KEY = "calls"


class NoLimiter:
    """Fails: nothing may ask it."""

    async def take(self, key: str, per_minute: int) -> float:
        raise AssertionError(f"{key} was not limited by Redis")


class Replica:
    """A limiter on a connection of its own, as in a process of its own."""

    def __init__(self, url: str, prefix: str, clock: Callable[[], float], fallback: RateLimiter) -> None:
        self.redis = RedisConnection(url, timeout_s=HANG_S, clock=clock)
        self.limiter = RedisRateLimiter(self.redis, prefix, fallback, clock=clock, redis_clock=clock)

    async def take(self, per_minute: int = LIMIT, key: str = KEY) -> float:
        return await self.limiter.take(key, per_minute)


@asynccontextmanager
async def replicas(
    count: int, url: str, prefix: str, clock: Callable[[], float], fallback: RateLimiter | None = None
) -> AsyncIterator[list[Replica]]:
    found = [Replica(url, prefix, clock, fallback or NoLimiter()) for _ in range(count)]
    try:
        yield found
    finally:
        for replica in found:
            await replica.redis.aclose()


async def drain(replica: Replica) -> None:
    """Use up the burst, so that only the steady rate is left."""
    while await replica.take() == 0:
        pass


@pytest.fixture(params=["memory", "share", "redis"])
async def limiter(request, clock) -> AsyncIterator[RateLimiter]:
    """Return each limiter, as the only replica."""
    if request.param == "memory":
        yield MemoryRateLimiter(clock)
    elif request.param == "share":
        yield RateShare(MemoryRateLimiter(clock), lambda: 1)
    else:
        url, prefix = map(request.getfixturevalue, ("redis_url", "redis_prefix"))
        async with replicas(1, url, prefix, clock) as (replica,):
            yield replica.limiter


@pytest.mark.parametrize("per_minute", [1, 2, 7, 60, 119, 600, 3_000])
async def test_limiter_admits_a_burst_and_then_the_steady_rate(limiter, clock, per_minute):
    burst = int(burst_of(per_minute))
    assert [await limiter.take("a", per_minute) for _ in range(burst)] == [0.0] * burst
    wait = await limiter.take("a", per_minute)
    assert 0 < wait <= 60 / per_minute + 1e-5
    for _ in range(3):
        clock.time += wait + 1e-5
        assert await limiter.take("a", per_minute) == 0.0
        assert await limiter.take("a", per_minute) > 0
    clock.time += 120
    assert [await limiter.take("a", per_minute) > 0 for _ in range(burst + 1)] == [*[False] * burst, True]


async def test_keys_have_rates_of_their_own(limiter):
    assert [await limiter.take(key, 1) for key in ("a", "b", "c")] == [0.0, 0.0, 0.0]
    assert await limiter.take("b", 1) > 0


async def test_changed_limit_applies_to_the_next_call(limiter, clock):
    assert await limiter.take("a", 1) == 0.0
    clock.time += 30
    assert await limiter.take("a", 1) == pytest.approx(30)
    assert await limiter.take("a", 100) <= 60 / 100
    assert await limiter.take("a", 1) > 0


async def test_calls_at_the_same_time_are_counted_exactly(limiter):
    waits = await asyncio.gather(*(limiter.take("a", 100) for _ in range(150)))
    assert waits.count(0.0) == burst_of(100)


async def test_keys_that_are_no_longer_limited_are_dropped(clock):
    memory = MemoryRateLimiter(clock)
    memory._due = {str(n): 1.0 for n in range(10_000)}
    assert await memory.take("b", 1) == 0.0
    assert len(memory._due) == 1


async def test_leases_that_have_ended_are_dropped(clock, redis_url, redis_prefix, monkeypatch):
    monkeypatch.setattr(rate_limits, "MAX_KEYS", 10)
    async with replicas(1, redis_url, redis_prefix, clock) as (replica,):
        for number in range(100):
            assert await replica.take(LIMIT, f"key{number}") == 0.0
            clock.time += rate_limits.LEASE_S / 4
        assert len(replica.limiter._leases) <= 20


async def test_warm_call_sends_no_request(clock, redis_url, redis_prefix):
    """A lease is a second of the rate."""
    async with replicas(1, redis_url, redis_prefix, clock) as (replica,):
        for _ in range(50):
            assert await replica.take() == 0.0
        assert replica.redis.requests == 50 / (LIMIT / 60)


async def test_refused_call_sends_no_request_before_the_next_one_is_due(clock, redis_url, redis_prefix):
    async with replicas(1, redis_url, redis_prefix, clock) as (replica,):
        await drain(replica)
        sent = replica.redis.requests
        for _ in range(50):
            assert await replica.take() > 0
        assert replica.redis.requests == sent


async def test_calls_that_wait_for_a_lease_share_one_request(clock, redis_url, redis_prefix):
    async with replicas(1, redis_url, redis_prefix, clock) as (replica,):
        assert await asyncio.gather(*(replica.take() for _ in range(50))) == [0.0] * 50
        assert replica.redis.requests <= 3


async def test_leased_calls_that_were_not_made_are_given_back(clock, redis_url, redis_prefix):
    async with replicas(2, redis_url, redis_prefix, clock) as (first, second):
        assert await first.take() == 0.0
        clock.time += rate_limits.LEASE_S
        await drain(second)
        assert await first.take() == 0.0, "the rest of its lease belongs to the rate again"
        clock.time += rate_limits.LEASE_S
        admitted = 0
        while await first.take() == 0 or await second.take() == 0:
            admitted += 1
        second_of_the_rate = LIMIT // 60
        assert admitted == 2 * second_of_the_rate - 2, "two calls of the first replica"


@pytest.mark.parametrize("shares", [(1, 1, 1), (18, 1, 1), (3, 1, 0)], ids=["even", "uneven", "idle"])
@pytest.mark.parametrize("offered", [1.05, 3.0])
async def test_three_replicas_admit_the_rate_together(clock, redis_url, redis_prefix, shares, offered, size):
    """Some minutes at 600 calls a minute, after the burst, with a clock that the test moves."""
    minutes = size(1, 5)
    async with replicas(3, redis_url, redis_prefix, clock) as found:
        await drain(found[0])
        turns = [replica for replica, share in zip(found, shares, strict=True) for _ in range(share)]
        calls, admitted = int(minutes * LIMIT * offered), 0
        for number in range(calls):
            clock.time += 60 / (LIMIT * offered)
            admitted += await turns[number % len(turns)].take() == 0
        assert admitted == pytest.approx(minutes * LIMIT, rel=0.02)
        assert all(replica.redis.failures == 0 for replica in found)


@pytest.mark.stress
def test_three_processes_admit_the_rate_together(redis_url, redis_prefix, size):
    """With their own clocks and that of Redis: the rate and a burst, except for what is leased at the end."""
    seconds, start = size(2, 300), time.time()
    command = [sys.executable, rate_taker.__file__, redis_url, redis_prefix, str(LIMIT), str(seconds)]
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
            for _ in range(3)
        ]
        assert [process.stdout.readline() for process in processes] == ["ready\n"] * 3
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        results = [process.communicate(timeout=seconds + HANG_S)[0].split() for process in processes]
    assert [failures for *_, failures in results] == ["0"] * 3
    admitted = sum(int(count) for count, *_ in results)
    elapsed = max(float(last) for _, last, _ in results) - start
    rate, leased = elapsed * LIMIT / 60, 3 * LIMIT / 60
    print(f"{admitted} calls in {elapsed:.1f} s at {LIMIT} a minute")
    assert 0.98 * rate - leased <= admitted <= rate + burst_of(LIMIT) + 1


@pytest.mark.parametrize(("per_minute", "count"), [(1, 3), (2, 3), (7, 3), (600, 7), (5, 64)])
async def test_shares_of_all_replicas_are_the_limit(clock, per_minute, count):
    """However small a share is, each replica admits calls, and together they admit the rate."""
    shares = [RateShare(MemoryRateLimiter(clock), lambda: count) for _ in range(count)]
    burst = 0
    for share in shares:
        while await share.take(KEY, per_minute) == 0:
            burst += 1
    assert burst <= max(per_minute, count)
    minutes, admitted = 3 * count, 0
    for _ in range(minutes * 10):
        clock.time += 6.0 + 1e-7
        for share in shares:
            while await share.take(KEY, per_minute) == 0:
                admitted += 1
    assert admitted == pytest.approx(minutes * per_minute, abs=count)


async def test_share_follows_the_number_of_replicas(clock):
    count = 2
    share = RateShare(MemoryRateLimiter(clock), lambda: count)
    assert [await share.take(KEY, 4) == 0 for _ in range(3)] == [True, True, False]
    clock.time += 60
    count = 1
    assert [await share.take(KEY, 4) == 0 for _ in range(5)] == [True, True, True, True, False]
    count = 0  # unknown
    clock.time += 60
    assert await share.take(KEY, 4) == 0


async def test_killed_redis_fails_no_call_and_the_limit_is_exact_after_its_restart(
    clock, own_redis: RedisServer, caplog
):
    share = RateShare(MemoryRateLimiter(clock), lambda: 2)
    async with replicas(2, own_redis.url, "t:", clock, share) as (first, second):
        before = [await replica.take(10) for replica in (first, second) for _ in range(5)]
        assert (before, first.redis.requests) == ([0.0] * 10, 5)
        assert await first.take(10) > 0
        calls = [asyncio.create_task(first.take(3_000, f"k{n % 20}")) for n in range(200)]
        await until(lambda: first.redis.requests > 6)
        own_redis.kill()
        assert await asyncio.gather(*calls) == [0.0] * 200
        assert not first.redis.is_available
        failures = first.redis.failures

        sent = first.redis.requests
        for _ in range(100):
            await first.take(10, "other")
        assert (first.redis.requests, first.redis.failures) == (sent, failures), "the breaker is open"
        clock.time += PAUSE_S
        await asyncio.gather(*(first.take(10, f"other{number}") for number in range(50)))
        assert first.redis.requests == sent + 1, "one call tries whether Redis is back"

        own_redis.start()
        clock.time += 60 / 10  # until then, it knows without a request that no call is due
        assert await first.take(10) == 0.0
        assert first.redis.is_available
        after = [await replica.take(10) == 0 for replica in (first, second) for _ in range(10)]
        assert after.count(True) == 9, "a minute's rates start anew, and are exact"
    away = [record for record in caplog.records if "Redis cannot be used" in record.message]
    back = [record for record in caplog.records if "Redis is back" in record.message]
    assert (len(away), len(back)) == (1, 1)


async def test_redis_that_hangs_delays_one_call_and_no_other_for_a_second(clock, own_redis: RedisServer):
    share = RateShare(MemoryRateLimiter(clock), lambda: 1)
    redis = RedisConnection(own_redis.url, clock=clock)
    limiter = RedisRateLimiter(redis, "t:", share, clock=clock)
    own_redis.pause()
    try:
        assert await limiter.take(KEY, 10) == 0.0
        assert (redis.requests, redis.failures) == (1, 1)
        assert await asyncio.gather(*(limiter.take(KEY, 10) for _ in range(9))) == [0.0] * 9
        assert await limiter.take(KEY, 10) > 0, "the share is used up"
        assert (redis.requests, redis.failures) == (1, 1)
        clock.time += PAUSE_S
        others = await asyncio.gather(*(limiter.take(f"other{number}", 10) for number in range(20)))
        assert (others, redis.requests) == ([0.0] * 20, 2), "only one of them tries"
    finally:
        own_redis.resume()
        await redis.aclose()


async def test_redis_that_is_away_at_the_start_is_used_when_it_is_there(clock, own_redis: RedisServer):
    own_redis.kill()
    async with replicas(1, own_redis.url, "t:", clock, MemoryRateLimiter(clock)) as (replica,):
        assert not await replica.redis.check()
        assert await replica.take(1) == 0.0
        own_redis.start()
        clock.time += PAUSE_S
        assert await replica.redis.check()
        assert await replica.take(1) == 0.0
        assert await replica.take(1) > 0


async def test_redis_that_refuses_to_write_counts_as_away(clock, own_redis: RedisServer):
    async with replicas(1, own_redis.url, "t:", clock, MemoryRateLimiter(clock)) as (replica,):
        await replica.redis._redis.config_set("maxmemory", "1")
        assert [await replica.take(2) == 0 for _ in range(3)] == [True, True, False]
        assert replica.redis.failures == 1


async def test_cancelled_call_leaves_no_response_behind(redis_url, redis_prefix, clock):
    async with replicas(1, redis_url, redis_prefix, clock) as (replica,):
        for _ in range(20):
            task = asyncio.create_task(replica.take(1, "cancelled"))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        waits = await asyncio.gather(*(replica.take(50) for _ in range(60)))
        assert waits.count(0.0) == burst_of(50)
        assert replica.redis.failures == 0


@pytest.mark.parametrize("url", ["", "localhost:6379", "http://localhost", "redis://host:port"])
def test_invalid_url_is_refused_without_quoting_it(url):
    with pytest.raises(SettingsError, match=r"The URL of Redis is invalid\. Example: redis://") as caught:
        RedisConnection(url)
    assert "localhost" not in str(caught.value)
