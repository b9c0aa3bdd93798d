"""Daemon threads for blocking work, without an upper limit.

A bounded pool deadlocks once it is full of tools that each wait for another tool. The pipeline limits how
many calls are admitted; every admitted call gets a thread here. Daemon threads do not keep the process alive.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, suppress
from functools import partial, wraps
from queue import Empty, SimpleQueue
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from onetool.event_loop import LoopWatchdog

T = TypeVar("T")
Job = Callable[[], None]
MAX_IDLE = 16
"""Maximum number of idle threads to keep for reuse."""


class Threads:
    """Runs blocking functions on threads for the event loop."""

    def __init__(self) -> None:
        self.watchdog = LoopWatchdog()
        """Says what blocks the event loop, for which these threads work."""
        self._idle: list[SimpleQueue[Job]] = []
        self._lock = threading.Lock()
        self._running: set[Job] = set()
        self._abandoned: set[Job] = set()
        self._is_closed = False

    @property
    def abandoned(self) -> int:
        """The number of functions that still run although their callers were cancelled."""
        return len(self._abandoned)

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function on a thread, in a copy of the current context, and return its result.

        If the caller is cancelled, the thread is abandoned: the function continues and its result is dropped.
        """
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()
        context = contextvars.copy_context()

        def job() -> None:
            value, error = None, None
            try:
                value = context.run(function, *args)
            except BaseException as raised:  # noqa: BLE001 - raised again in the caller
                error = raised
            self._finish(job)
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_set_result, outcome, (value, error))

        self._start(job)
        try:
            value, error = await outcome
        except asyncio.CancelledError:
            self._abandon(job)
            raise
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def close(self) -> None:
        """Stop idle threads now, and the others when their work is done."""
        self.watchdog.close()
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for jobs in idle:
            jobs.put(_wake_up)

    def _start(self, job: Job) -> None:
        with self._lock:
            self._running.add(job)
            jobs = self._idle.pop() if self._idle else None
        if jobs is None:
            jobs = SimpleQueue()
            threading.Thread(target=self._work, args=(jobs,), name="onetool", daemon=True).start()
        jobs.put(job)

    def _work(self, jobs: "SimpleQueue[Job]") -> None:
        while True:
            jobs.get()()
            with self._lock:
                if self._is_closed or len(self._idle) >= MAX_IDLE:
                    return
                self._idle.append(jobs)

    def _finish(self, job: Job) -> None:
        with self._lock:
            self._running.discard(job)
            self._abandoned.discard(job)

    def _abandon(self, job: Job) -> None:
        with self._lock:
            if job in self._running:
                self._abandoned.add(job)


def call_with_limit(function: Callable[[], T], timeout_s: float) -> T:
    """Run a function on a daemon thread and wait for its result. For code that is not on the event loop.

    Raises:
        TimeoutError: It takes longer. The thread is abandoned: the function continues, its result is dropped.
    """
    outcome: SimpleQueue[tuple[T | None, BaseException | None]] = SimpleQueue()

    def run() -> None:
        try:
            outcome.put((function(), None))
        except BaseException as raised:  # noqa: BLE001 - raised again in the caller
            outcome.put((None, raised))

    threading.Thread(target=run, name="onetool-limited", daemon=True).start()
    try:
        value, error = outcome.get(timeout=timeout_s)
    except Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def _wake_up() -> None:
    """Do nothing. The job wakes up an idle thread, which then sees that it must stop."""


def _set_result(outcome: "asyncio.Future[Any]", value: Any) -> None:
    if not outcome.done():
        outcome.set_result(value)


class _HasThreads(Protocol):
    _threads: Threads


S = TypeVar("S", bound=_HasThreads)
P = ParamSpec("P")


def threaded(
    method: Callable[Concatenate[S, P], T], errors: Callable[[], AbstractContextManager[None]]
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return a coroutine function that runs a blocking method on the `_threads` of its object.

    errors: a context manager that turns the errors of a driver into those of a store.
    """

    @wraps(method)
    async def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with errors():
            return await self._threads.run(partial(method, self, *args, **kwargs))

    return run
