"""`Threads`, which runs blocking work."""

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from onetool.threads import MAX_IDLE, Threads, call_with_limit
from support.waiting import HANG_S, until

VALUE: contextvars.ContextVar[str] = contextvars.ContextVar("value")


async def test_run_returns_results_and_raises_errors_of_the_function():
    """The function runs in the context of the caller."""
    threads = Threads()
    VALUE.set("seen")
    assert await threads.run(VALUE.get) == "seen"
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 / 0)
    with pytest.raises(RuntimeError):
        await threads.run(next, iter(()))


async def test_functions_run_concurrently_without_limit_and_reuse_threads():
    """A hundred functions that wait for each other each get a thread; only MAX_IDLE threads remain."""
    threads, together = Threads(), threading.Barrier(100)

    def meet():
        together.wait(HANG_S)
        return threading.current_thread()

    used = await asyncio.gather(*(threads.run(meet) for _ in range(100)))
    assert len(set(used)) == 100
    await until(lambda: sum(thread.is_alive() for thread in used) == MAX_IDLE)
    assert await threads.run(threading.current_thread) in used


async def test_close_ends_idle_threads_at_once_and_busy_ones_after_their_work():
    threads, started, release = Threads(), threading.Event(), threading.Event()

    def work():
        started.set()
        release.wait()
        return threading.current_thread()

    idle = await threads.run(threading.current_thread)
    busy = asyncio.create_task(threads.run(work))
    await until(started.is_set)  # otherwise it could get the thread of `other`, which would not end
    other = await threads.run(threading.current_thread)
    threads.close()
    other.join(HANG_S)
    release.set()
    last = await busy
    last.join(HANG_S)
    assert not any(thread.is_alive() for thread in (idle, other, last))


async def test_cancelled_wait_abandons_the_thread():
    """The wait ends at once; the function continues and counts as abandoned until it ends."""
    threads, started, release = Threads(), threading.Event(), threading.Event()
    task = asyncio.create_task(threads.run(lambda: started.set() or release.wait()))
    await until(started.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert threads.abandoned == 1
    release.set()
    await until(lambda: threads.abandoned == 0)


async def test_cancelling_after_the_function_ended_abandons_no_thread():
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


def test_hanging_function_does_not_block_interpreter_exit():
    """A function may also end after the event loop is closed."""
    code = """
import asyncio, threading
from onetool.threads import Threads
threads, running, loop_is_closed = Threads(), [], threading.Event()
def wait_for(event):
    running.append(threading.current_thread())
    event.wait()
async def main():
    for number, event in enumerate((threading.Event(), loop_is_closed)):
        task = asyncio.ensure_future(threads.run(wait_for, event))
        while len(running) == number:
            await asyncio.sleep(0.001)
        task.cancel()
asyncio.run(main())
threads.close()
loop_is_closed.set()
running[1].join()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S)
    assert (done.returncode, done.stderr) == (0, "")


def test_call_with_a_limit_returns_raises_or_is_abandoned():
    released = threading.Event()
    assert call_with_limit(lambda: "value", HANG_S) == "value"
    with pytest.raises(ZeroDivisionError):
        call_with_limit(lambda: 1 // 0, HANG_S)
    with pytest.raises(TimeoutError):
        call_with_limit(lambda: released.wait(HANG_S), 0.01)
    released.set()
