"""Threads for blocking work."""

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from onetool.threads import MAX_IDLE, Threads

VALUE: contextvars.ContextVar[str] = contextvars.ContextVar("value")


async def test_results_and_errors_come_back():
    """Whatever the function does is what the wait does, in the same context."""
    threads = Threads()
    VALUE.set("seen")
    assert await threads.run(VALUE.get) == "seen"
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 / 0)
    with pytest.raises(RuntimeError):
        await threads.run(next, iter(()))


async def test_any_number_runs_at_once_and_threads_are_used_again():
    """No bound: a hundred functions that wait for each other all get a thread; few of those are kept."""
    threads, together = Threads(), threading.Barrier(100)
    await asyncio.gather(*(threads.run(together.wait, 10) for _ in range(100)))
    used = {await threads.run(threading.get_ident) for _ in range(50)}
    assert len(used) <= MAX_IDLE


async def test_closing_lets_the_threads_end():
    """Idle threads end at once, one that works when its work is done."""
    threads, release = Threads(), threading.Event()
    idle = await threads.run(threading.current_thread)
    busy = asyncio.create_task(threads.run(lambda: release.wait() and threading.current_thread()))
    other = await threads.run(threading.current_thread)
    threads.close()
    other.join(5)
    release.set()
    last = await busy
    last.join(5)
    assert not any(thread.is_alive() for thread in (idle, other, last))


async def test_who_stops_waiting_abandons_the_thread():
    """The wait ends at once; the function goes on and is counted until it ends."""
    threads, release, ended = Threads(), threading.Event(), threading.Event()

    def work() -> None:
        release.wait()
        ended.set()

    task = asyncio.create_task(threads.run(work))
    await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert threads.abandoned == 1
    release.set()
    assert await asyncio.to_thread(ended.wait, 5)
    await threads.run(int)
    while threads.abandoned:
        await asyncio.sleep(0.001)


async def test_a_function_that_had_ended_is_not_abandoned():
    """Cancelled after the end is not counted."""
    threads, ended = Threads(), threading.Event()
    task = asyncio.create_task(threads.run(ended.set))
    await asyncio.sleep(0)
    ended.wait()
    while threads._running:
        pass
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert threads.abandoned == 0


def test_a_hanging_thread_does_not_keep_the_process():
    """The interpreter exits although a function hangs, and its late end after the loop is harmless."""
    code = """
import asyncio, threading, time
from onetool.threads import Threads
async def main():
    threads = Threads()
    for function in (threading.Event().wait, lambda: time.sleep(0.2)):
        task = asyncio.ensure_future(threads.run(function))
        await asyncio.sleep(0.05)
        task.cancel()
asyncio.run(main())
time.sleep(0.3)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")
