"""Deadlines hold even for tools that ignore cancellation."""

import asyncio

import pytest

from onetool.domain.calls.pauses import Pauses
from onetool.pipeline.deadline import GRACE, TICK, DeadlineRunner, DeadlineTimer
from onetool.testing import memory_runtime
from support.virtual_clock import virtual_time, with_virtual_clock


async def run(tool, seconds: float):
    runner = DeadlineRunner(virtual_time() + seconds, DeadlineTimer(), Pauses())
    try:
        return await runner.run(tool)
    finally:
        runner.detach()


async def stubborn():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


def is_noticed_at(moment: float) -> bool:
    """Return whether it is this moment, or less than a tick of the timer later."""
    return moment - 1e-6 <= virtual_time() <= moment + TICK + 1e-6


@with_virtual_clock
async def test_coroutine_runs_as_if_it_were_awaited():

    async def tool():
        await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        return await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))

    assert await run(tool(), 5) == [1, 2]


@with_virtual_clock
async def test_exception_of_an_awaited_future_is_raised_in_the_tool():

    async def tool():
        failed = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(failed.set_exception, KeyError("x"))
        try:
            await failed
        except KeyError:
            return "caught"

    assert await run(tool(), 5) == "caught"


@with_virtual_clock
async def test_tool_is_cancelled_at_the_deadline_and_can_clean_up():
    cleaned = []

    async def tool():
        try:
            await asyncio.Event().wait()
        finally:
            assert is_noticed_at(7)
            await asyncio.sleep(GRACE - 0.01)
            cleaned.append(True)

    runner = DeadlineRunner(7, DeadlineTimer(), Pauses())
    with pytest.raises(asyncio.CancelledError):
        await runner.run(tool())
    runner.detach()
    assert runner.expired
    assert cleaned == [True]
    assert asyncio.current_task().cancelling() == 0


@with_virtual_clock
async def test_tool_that_ignores_cancellation_is_abandoned():
    """The caller waits no longer than the deadline and the grace period."""
    runner = DeadlineRunner(7, DeadlineTimer(), Pauses())
    with pytest.raises(asyncio.CancelledError):
        await runner.run(stubborn())
    runner.detach()
    assert is_noticed_at(7 + GRACE)
    assert asyncio.current_task().cancelling() == 0


@with_virtual_clock
async def test_cancelling_the_caller_cancels_the_tool():
    events = []

    async def tool():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    task = asyncio.create_task(run(tool(), 5))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events == ["cancelled"]
    assert virtual_time() == pytest.approx(0.01)


@with_virtual_clock
async def test_cancelled_caller_waits_for_a_stubborn_tool_until_the_deadline():
    task = asyncio.create_task(run(stubborn(), 7))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert is_noticed_at(7 + GRACE)


@with_virtual_clock
async def test_timeout_inside_the_tool_does_not_start_the_grace_period():

    async def tool():
        try:
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        except TimeoutError:
            await asyncio.sleep(GRACE + 0.2)
            return "continued"

    assert await run(tool(), 5) == "continued"


@with_virtual_clock
async def test_cancellation_of_an_awaited_future_does_not_cancel_the_call():

    async def tool():
        other = asyncio.ensure_future(asyncio.sleep(10))
        asyncio.get_running_loop().call_soon(other.cancel)
        try:
            await other
        except asyncio.CancelledError:
            await asyncio.sleep(GRACE + 0.1)
            return "continued"

    assert await run(tool(), 5) == "continued"


@with_virtual_clock
async def test_task_group_inside_the_tool_can_clean_up_slowly():
    """A task group that cancels its own tasks does not cancel the call."""

    async def clean_up_slowly():
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
                group.create_task(clean_up_slowly())
                group.create_task(failing())
        except* KeyError:
            pass
        return "continued"

    assert await run(tool(), 5) == "continued"


async def test_cancellation_of_the_caller_keeps_its_message():
    """Cancel scopes recognize their own cancellation by the message."""

    running = asyncio.Event()

    async def tool():
        try:
            running.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)

    async with memory_runtime({"demo": [tool]}) as ot:
        task = asyncio.create_task(ot.call("demo.tool"))
        await running.wait()
        task.cancel("by scope 1")
        with pytest.raises(asyncio.CancelledError, match="by scope 1"):
            await task


def test_runner_outside_of_a_task_is_rejected():
    loop = asyncio.new_event_loop()
    failures = []

    def create_runner():
        try:
            DeadlineRunner(1.0, DeadlineTimer(), Pauses())
        except RuntimeError as error:
            failures.append(str(error))

    loop.call_soon(create_runner)
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert failures == ["Tools must be called inside an asyncio task."]
