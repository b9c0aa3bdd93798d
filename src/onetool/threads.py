"""Daemon threads for blocking work: as many as are needed, and none of them keeps the process alive.

A bounded pool stops for ever once it is full of tools that each wait for another tool. How many calls
may start is decided by the pipeline's admission; what was admitted always gets a thread here.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
Job = Callable[[], None]
MAX_IDLE = 16


class Threads:
    """Runs functions on threads while the event loop waits for them."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Job]] = []
        self._lock = threading.Lock()
        self._running: set[Job] = set()
        self._abandoned: set[Job] = set()
        self._is_closed = False

    @property
    def abandoned(self) -> int:
        """How many functions still run although nobody waits for them."""
        return len(self._abandoned)

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Run the function on a thread, in a copy of this context.

        Cancelling the wait abandons the thread: the function goes on, its outcome is dropped.
        """
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()
        context = contextvars.copy_context()

        def job() -> None:
            value, error = None, None
            try:
                value = context.run(function, *args)
            except BaseException as raised:  # noqa: BLE001 - raised again where the loop waits
                error = raised
            self._forget(job)
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(_settle, outcome, (value, error))

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
        """Let idle threads end, and the others when their work is done."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for jobs in idle:
            jobs.put(_nothing)

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

    def _forget(self, job: Job) -> None:
        with self._lock:
            self._running.discard(job)
            self._abandoned.discard(job)

    def _abandon(self, job: Job) -> None:
        with self._lock:
            if job in self._running:
                self._abandoned.add(job)


def _nothing() -> None:
    """Wake a thread up to see that it is no longer needed."""


def _settle(outcome: "asyncio.Future[Any]", value: Any) -> None:
    if not outcome.done():
        outcome.set_result(value)
