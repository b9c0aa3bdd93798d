"""`LoopWatchdog`, which notices that the event loop is blocked and says by what."""

import asyncio
import logging
import threading

from onetool.event_loop import LoopWatchdog
from onetool.runtime.health import check_health
from onetool.testing import memory_runtime
from support.processes import wait_until
from support.waiting import until


async def test_a_blocked_loop_is_named_while_it_is_blocked_and_afterwards(caplog):
    watchdog = LoopWatchdog(tick_s=0.001)
    watchdog.start(asyncio.get_running_loop())
    named = []

    def hold_the_loop() -> None:
        assert wait_until(lambda: watchdog.blocked_by)
        named.append(watchdog.blocked_by)

    hold_the_loop()
    await until(lambda: not watchdog.blocked_by)
    watchdog.close()
    last = watchdog.last_block
    assert "test_event_loop.py" in named[0] or "processes.py" in named[0]
    assert (last.where, last.seconds > 0) == (named[0], True)
    (error,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "the event loop is blocked by" in error.message
    assert "hold_the_loop" in error.stack


async def test_a_loop_that_responds_is_not_reported(caplog):
    watchdog, signs = LoopWatchdog(tick_s=0.001), []
    watchdog.start(loop := asyncio.get_running_loop())
    while len(signs) < 20:
        loop.call_soon(signs.append, None)
        await asyncio.sleep(0)
    watchdog.close()
    assert (watchdog.blocked_by, watchdog.last_block) == ("", None)


async def test_every_runtime_has_one_watchdog_that_ends_with_it():
    async with memory_runtime() as ot:
        thread = [thread for thread in threading.enumerate() if thread.name == "onetool-watchdog"]
        assert len(thread) == 1
        ot.runtime.threads.watchdog.start(ot.runtime.loop)
        assert [t for t in threading.enumerate() if t.name == "onetool-watchdog"] == thread
    await until(lambda: not thread[0].is_alive())


async def test_health_says_what_blocked_the_loop():
    async with memory_runtime() as ot:
        assert (await check_health(ot.runtime.state, ot.runtime.threads)).blocked_loop == ""
        own = ot.runtime.threads.watchdog
        ot.runtime.threads.watchdog = watchdog = LoopWatchdog(tick_s=0.001)
        own.close()
        watchdog.start(ot.runtime.loop)
        assert wait_until(lambda: watchdog.blocked_by)
        await until(lambda: not watchdog.blocked_by)
        health = await check_health(ot.runtime.state, ot.runtime.threads)
        watchdog.close()
    (problem,) = [problem for problem in health.problems() if "event loop" in problem.what]
    assert ".py, line " in problem.what
    assert "to_thread" in problem.fix


def test_a_closed_loop_is_not_watched():
    watchdog = LoopWatchdog(tick_s=0.001)

    async def start() -> None:
        watchdog.start(asyncio.get_running_loop())

    asyncio.run(start())
    assert wait_until(lambda: "onetool-watchdog" not in {thread.name for thread in threading.enumerate()})
    assert watchdog.blocked_by == ""
