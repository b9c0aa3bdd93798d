"""A tool that ignores being cancelled does not keep its caller."""

import asyncio
import time

import pytest

from onetool.pipeline.leash import GRACE, Leash, Timekeeper
from onetool.testing import memory_runtime


async def walk(tool, seconds: float):
    leash = Leash(time.monotonic() + seconds, Timekeeper())
    try:
        return await leash.walk(tool)
    finally:
        leash.drop()


async def stubborn():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


async def test_a_result_in_time_is_handed_on():
    """A coroutine that awaits several things runs as if it were awaited directly."""

    async def tool():
        await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        return await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))

    assert await walk(tool(), 5) == [1, 2]


async def test_an_exception_that_the_tool_awaits_reaches_the_tool():
    """What a future raises is raised inside the tool, where it can be caught."""

    async def tool():
        failed = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(failed.set_exception, KeyError("x"))
        try:
            await failed
        except KeyError:
            return "caught"

    assert await walk(tool(), 5) == "caught"


async def test_the_deadline_cancels():
    """A tool that waits longer is cancelled, and may clean up."""
    cleaned = []

    async def tool():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            cleaned.append(True)

    leash = Leash(time.monotonic() + 0.02, Timekeeper())
    with pytest.raises(asyncio.CancelledError):
        await leash.walk(tool())
    leash.drop()
    assert leash.expired
    assert cleaned == [True]
    assert asyncio.current_task().cancelling() == 0


async def test_a_tool_that_swallows_cancellation_is_let_go():
    """The caller waits no longer than the deadline and a moment of grace."""
    started = time.monotonic()
    leash = Leash(started + 0.05, Timekeeper())
    with pytest.raises(asyncio.CancelledError):
        await leash.walk(stubborn())
    leash.drop()
    assert time.monotonic() - started < 0.05 + GRACE + 0.4
    assert asyncio.current_task().cancelling() == 0


async def test_cancelling_the_caller_cancels_the_tool():
    """The caller's own cancellation goes through the tool and comes out again."""
    seen = []

    async def tool():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    task = asyncio.create_task(walk(tool(), 5))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


async def test_a_stubborn_tool_of_a_cancelled_caller_is_let_go():
    """A caller that is cancelled leaves at the deadline, although its tool goes on."""
    task = asyncio.create_task(walk(stubborn(), 0.3))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, GRACE + 1)


async def test_a_timeout_inside_the_tool_is_its_own_affair():
    """A tool may use timeouts and go on after them for longer than the grace."""

    async def tool():
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            await asyncio.sleep(GRACE + 0.2)
            return "went on"

    assert await walk(tool(), 5) == "went on"


async def test_a_future_cancelled_by_others_does_not_cancel_the_call():
    """CancelledError from something that the tool waits for is no cancellation of the call."""

    async def tool():
        other = asyncio.ensure_future(asyncio.sleep(10))
        asyncio.get_running_loop().call_soon(other.cancel)
        try:
            await other
        except asyncio.CancelledError:
            await asyncio.sleep(GRACE + 0.1)
            return "went on"

    assert await walk(tool(), 5) == "went on"


async def test_a_group_inside_the_tool_may_clean_up_slowly():
    """A task group that cancels its own members is no cancellation of the call, however long they take."""

    async def slowly():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(GRACE + 0.2)

    async def failing():
        await asyncio.sleep(0.01)
        raise KeyError("x")

    async def tool():
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(slowly())
                group.create_task(failing())
        except* KeyError:
            pass
        return "went on"

    assert await walk(tool(), 5) == "went on"


async def test_the_callers_own_cancellation_comes_out_as_it_went_in():
    """Whoever cancelled recognises it: its message is kept."""

    async def tool():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)

    async with memory_runtime({"demo": [tool]}) as ot:
        task = asyncio.create_task(ot.call("demo.tool"))
        await asyncio.sleep(0.05)
        task.cancel("by scope 1")
        with pytest.raises(asyncio.CancelledError, match="by scope 1"):
            await task


def test_outside_of_a_task_it_says_so():
    """There is nothing to cancel without a task."""

    loop = asyncio.new_event_loop()
    failures = []

    def try_it():
        try:
            Leash(1.0, Timekeeper())
        except RuntimeError as error:
            failures.append(str(error))

    loop.call_soon(try_it)
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert failures == ["A tool is called from within a task."]
