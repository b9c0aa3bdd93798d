"""Runs a tool's coroutine under a deadline, even if the coroutine ignores cancellation.

A coroutine may catch CancelledError and continue. Code that awaits it then waits until it ends by itself;
`asyncio.timeout` does not help. Running every tool in a task of its own would, but costs two extra iterations
of the event loop per call.

So `DeadlineRunner.run` drives the coroutine by hand with `send` and `throw`, in the caller's task. At the
deadline it cancels the task; the tool receives CancelledError and has GRACE seconds to clean up. Then the
runner cancels the task again, closes the coroutine and never resumes it. If the caller itself is cancelled,
the tool receives that cancellation, and the caller waits for it no longer than the deadline.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import suppress
from types import coroutine as awaitable
from typing import Any, TypeVar

from onetool.domain.calls.pauses import Pauses

T = TypeVar("T")
GRACE = 0.5
"""Seconds that a cancelled tool has to clean up."""
TICK = 0.02
"""Maximum delay in seconds after which an expired deadline is noticed."""


class DeadlineTimer:
    """One timer for all running calls. A timer per call would cost more than most of the pipeline."""

    def __init__(self) -> None:
        self._running: set[DeadlineRunner] = set()
        self._is_ticking = False

    def start(self, runner: "DeadlineRunner") -> None:
        """Watch a runner: call its `expire` when its deadline has passed."""
        self._running.add(runner)
        if not self._is_ticking:
            self._is_ticking = True
            runner.loop.call_later(TICK, self._tick, runner.loop)

    def stop(self, runner: "DeadlineRunner") -> None:
        """Stop watching a runner."""
        self._running.discard(runner)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for runner in [runner for runner in self._running if runner.is_late(now)]:
            self._running.discard(runner)
            runner.expire()
        self._is_ticking = bool(self._running)
        if self._is_ticking:
            loop.call_later(TICK, self._tick, loop)


class DeadlineRunner:
    """Runs one coroutine in the current task. Create it, await `run`, then call `detach`."""

    __slots__ = (
        "_cancellations_before",
        "_deadline",
        "_grace_is_over",
        "_grace_timer",
        "_paused_before",
        "_pauses",
        "_task",
        "_timer",
        "expired",
        "loop",
    )

    def __init__(
        self, deadline: float, timer: DeadlineTimer, pauses: Pauses, paused_before: float = 0.0
    ) -> None:
        """paused_before: seconds of pauses before the deadline was set."""
        self._deadline, self._timer, self._pauses = deadline, timer, pauses
        self._paused_before = paused_before
        self.loop = asyncio.get_running_loop()
        task = asyncio.current_task(self.loop)
        if task is None:
            raise RuntimeError("Tools must be called inside an asyncio task.")
        self._task = task
        self._cancellations_before = task.cancelling()
        self._grace_timer: asyncio.TimerHandle | None = None
        self.expired = self._grace_is_over = False
        timer.start(self)

    @awaitable
    def run(self, tool: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Drive the coroutine until it ends or its grace period is over. `detach` must follow."""
        error: BaseException | None = None
        try:
            while True:
                awaited = tool.send(None) if error is None else tool.throw(error)
                try:
                    yield awaited
                    error = None
                except asyncio.CancelledError as cancelled:
                    if self._grace_is_over:
                        raise
                    error = cancelled
                except BaseException as raised:  # noqa: BLE001 - raised by what the tool awaits: the tool handles it
                    error = raised
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        finally:
            with suppress(BaseException):
                tool.close()

    def detach(self) -> bool:
        """Undo this runner's own cancellations. Return whether the task was also cancelled by others."""
        self._timer.stop(self)
        if self._grace_timer is not None:
            self._grace_timer.cancel()
        if self.expired:
            self._task.uncancel()
        if self._grace_is_over:
            self._task.uncancel()
        return self._task.cancelling() > self._cancellations_before

    def is_late(self, now: float) -> bool:
        """Return whether the deadline has passed, without the pauses since it was set."""
        return self._deadline <= now and self._deadline + self._pauses.seconds - self._paused_before <= now

    def expire(self) -> None:
        """Cancel the task because the deadline has passed, and start the grace period."""
        self.expired = True
        self._task.cancel()
        self._grace_timer = self.loop.call_later(GRACE, self._end_grace)

    def _end_grace(self) -> None:
        self._grace_is_over = True
        self._task.cancel()
