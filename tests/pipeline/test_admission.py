"""Limits of a workspace, as its calls and runs meet them."""

import asyncio
from dataclasses import replace

import pytest

from onetool.domain import Caller, Reason, ToolSpec
from onetool.domain.errors import ExecutionError, LimitExceeded
from onetool.domain.identity.principal import Principal
from onetool.domain.identity.workspace_limits import WorkspaceLimits
from onetool.pipeline.admission import BUSY_RETRY_S, Admission
from onetool.storage.memory.rate_limits import MemoryRateLimiter
from onetool.storage.redis.call_leases import RedisCallLeases
from onetool.storage.redis.connection import RedisConnection
from onetool.testing import memory_runtime
from support.virtual_clock import virtual_time, with_virtual_clock
from support.waiting import HANG_S


def spec(name: str = "demo.look", **fields) -> ToolSpec:
    return ToolSpec(name=name, description="x", input_schema={"type": "object"}, **fields)


def caller(principal: str = "anna", depth: int = 0) -> Caller:
    return Caller(interface="rest", principal=Principal(principal), depth=depth)


def admission(max_concurrent: int = 64, **limits: int | None) -> Admission:
    made = Admission(max_concurrent, MemoryRateLimiter(lambda: 0.0))
    made.configure(max_concurrent, WorkspaceLimits(**limits))
    return made


async def refusal(attempt) -> LimitExceeded:
    with pytest.raises(LimitExceeded) as caught:
        await attempt
    return caught.value


async def test_all_principals_share_the_rate_of_the_workspace():
    limited = admission(calls_per_minute=2)
    await limited.check(spec(), caller("anna"))
    await limited.check(spec("demo.other"), caller("bert", depth=1))
    error = await refusal(limited.check(spec(), caller("carl")))
    assert str(error) == (
        "demo.look was not called: the workspace is limited to 2 calls per minute. Try again in 30 s."
    )
    assert (error.reason, error.retry_after_s) == (Reason.RATE_LIMITED, 30.0)


async def test_each_principal_has_a_rate_of_their_own():
    limited = admission(principal_calls_per_minute=1)
    await limited.check(spec(), caller("anna"))
    await limited.check(spec(), caller("bert"))
    error = await refusal(limited.check(spec("demo.other"), caller("anna")))
    assert str(error) == (
        "demo.other was not called: 'anna' is limited to 1 calls per minute. Try again in 60 s."
    )


async def test_tool_keeps_its_own_rate_within_those_of_the_workspace():
    limited = admission(calls_per_minute=100, principal_calls_per_minute=100)
    rare = spec(max_calls_per_minute=1)
    await limited.check(rare, caller())
    error = await refusal(limited.check(rare, caller()))
    assert str(error) == "demo.look was not called: it is limited to 1 calls per minute. Try again in 60 s."
    await limited.check(spec("demo.other"), caller())


async def test_names_of_principals_and_tools_are_never_mistaken_for_each_other():
    limited = admission(calls_per_minute=100, principal_calls_per_minute=1)
    await limited.check(spec("workspace.x", max_calls_per_minute=1), caller("workspace"))
    await limited.check(spec("principal:workspace.y", max_calls_per_minute=1), caller("tool:workspace.x"))


async def test_changed_limits_apply_to_the_next_call():
    limited = admission(calls_per_minute=1)
    await limited.check(spec(), caller())
    await refusal(limited.check(spec(), caller()))
    limited.configure(64, WorkspaceLimits())
    await limited.check(spec(), caller())
    limited.configure(64)
    await limited.check(spec(), caller())


@with_virtual_clock
async def test_workspace_cannot_have_more_concurrent_calls_than_the_operator_permits():
    limited = admission(max_concurrent=64, concurrent_calls=1)
    lease = await limited.acquire(spec(), caller(), virtual_time() + 5)
    error = await refusal(limited.acquire(spec(), caller(), virtual_time() + 5))
    assert str(error) == (
        "demo.look was not called: too many calls are running. The workspace is limited to 1 at a time."
        " Try again later."
    )
    assert (error.reason, error.retry_after_s) == (Reason.RATE_LIMITED, BUSY_RETRY_S)
    waiting = asyncio.create_task(limited.acquire(spec(), caller(), virtual_time() + 5))
    await asyncio.sleep(0)
    lease.close()
    (await waiting).close()


@pytest.mark.parametrize(("own", "limit"), [(1, 5), (1, None)])
@with_virtual_clock
async def test_settings_may_be_stricter_than_the_operator(own, limit):
    limited = admission(max_concurrent=own, concurrent_calls=limit)
    await limited.acquire(spec(), caller(), virtual_time() + 5)
    error = await refusal(limited.acquire(spec(), caller(), virtual_time() + 5))
    assert str(error) == "demo.look was not called: too many calls are running. Try again later."
    assert error.reason is Reason.BUSY


@with_virtual_clock
async def test_tool_that_is_busy_is_not_reported_as_the_limit_of_the_workspace():
    limited, busy = admission(concurrent_calls=3), spec(max_concurrent=1)
    held = await limited.acquire(busy, caller(), virtual_time() + 5)
    error = await refusal(limited.acquire(busy, caller(), virtual_time() + 5))
    held.close()
    assert (error.reason, "workspace" in str(error)) == (Reason.BUSY, False)


async def test_deep_calls_are_refused_before_they_count():
    limited = admission(calls_per_minute=1)
    with pytest.raises(ExecutionError, match="more than 8 levels"):
        await limited.check(spec(), caller(depth=9))
    await limited.check(spec(), caller())


async def test_run_that_gets_no_slot_says_how_many_run_at_a_time():
    started, end = asyncio.Event(), asyncio.Event()

    async def hold() -> str:
        started.set()
        await end.wait()
        return "held"

    settings = {"execution": {"max_concurrent_runs": 1, "timeout_s": HANG_S}}
    async with memory_runtime({"demo": [hold]}, settings=settings) as ot:
        first = asyncio.create_task(ot.run("demo.hold()"))
        await started.wait()
        hurried = replace(ot.caller, deadline=asyncio.get_running_loop().time() + 0.1)
        late = await ot.runtime.run("1 + 1", hurried)
        end.set()
        assert (await first).data == "held"
    assert late.error.reason is Reason.BUSY
    assert late.error.message == (
        "The code did not run: too many runs are in progress. Not more than 1 run at a time. Try again later."
    )


async def test_calls_of_a_tool_are_counted_at_all_replicas(redis_url, redis_prefix):
    """A call waits until another replica has given its lease back, or until its deadline."""
    busy, loop = spec(max_concurrent=1), asyncio.get_running_loop()
    connections = [RedisConnection(redis_url, timeout_s=HANG_S) for _ in range(2)]
    first, second = (
        Admission(10, MemoryRateLimiter(), leases=RedisCallLeases(connection, redis_prefix))
        for connection in connections
    )
    held = await first.acquire(busy, caller(), loop.time() + HANG_S)
    assert (await refusal(second.acquire(busy, caller(), loop.time() + 0.3))).reason is Reason.BUSY
    waiting = asyncio.create_task(second.acquire(busy, caller(), loop.time() + HANG_S))
    other = await second.acquire(spec("demo.other", max_concurrent=1), caller(), loop.time() + HANG_S)
    held.close()
    lease = await waiting
    assert (await refusal(first.acquire(busy, caller(), loop.time() + 0.3))).reason is Reason.BUSY
    grown = await first.acquire(spec(max_concurrent=2), caller(), loop.time() + HANG_S)
    for ended in (lease, other, grown):
        ended.close()
    for connection in connections:
        await connection.aclose()
