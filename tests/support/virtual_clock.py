"""Event loops with a virtual clock: timers fire at once and in order, and elapsed time is exact."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class VirtualRun(NamedTuple):
    """The result of a coroutine and the virtual seconds that it took."""

    result: Any
    seconds: float


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """An event loop that advances its time to the next timer instead of waiting for it.

    For code that waits only for coroutines and timers: time passes at once while a thread or a process works.
    """

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_AdvancingSelector(self._advance))

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._now

    def _advance(self, seconds: float) -> None:
        self._now += seconds


class _AdvancingSelector(selectors.DefaultSelector):
    """Polls, and advances the clock by the timeout if no file is ready."""

    def __init__(self, advance: Callable[[float], None]) -> None:
        super().__init__()
        self._advance = advance

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("Every task waits, and no timer can wake one.")
        if not ready and timeout:
            self._advance(timeout)
        return ready


def run_virtually(coroutine: Coroutine[Any, Any, Any]) -> VirtualRun:
    """Run a coroutine in a new event loop with a virtual clock that starts at zero."""

    async def measure() -> VirtualRun:
        return VirtualRun(await coroutine, asyncio.get_running_loop().time())

    with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
        return runner.run(measure())


def with_virtual_clock(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test in an event loop with a virtual clock that starts at zero."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        run_virtually(test(*args, **kwargs))

    return run


def virtual_time() -> float:
    """Return the time of the running event loop."""
    return asyncio.get_running_loop().time()


def advance_running_loop(seconds: float) -> None:
    """Advance the clock of the running event loop, whatever its kind, so that timers up to then fire next."""
    loop = asyncio.get_running_loop()
    time = loop.time
    setattr(loop, "time", lambda: time() + seconds)  # noqa: B010 - mypy rejects a plain assignment
