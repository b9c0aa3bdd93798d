"""The time limit of running code, which pauses move."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from onetool.domain.calls.caller import Caller


@asynccontextmanager
async def timeout_of(caller: Caller) -> AsyncIterator[None]:
    """Raise TimeoutError at the caller's deadline, which pauses move."""
    async with asyncio.timeout_at(caller.current_deadline) as timeout:
        time = _RunTime(timeout, caller)
        caller.pauses.add(time)
        try:
            yield
        finally:
            caller.pauses.remove(time)


class _RunTime:
    """The time of a run, which stands still during pauses."""

    def __init__(self, timeout: asyncio.Timeout, caller: Caller) -> None:
        self._timeout, self._caller = timeout, caller

    def release(self) -> None:
        """Stop the time."""
        with suppress(RuntimeError):  # it is over already
            self._timeout.reschedule(None)

    async def acquire(self, *, waits: bool) -> None:
        """Let the time go on."""
        with suppress(RuntimeError):
            self._timeout.reschedule(self._caller.current_deadline)
