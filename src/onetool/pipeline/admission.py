"""How many calls run at once. Inner calls pass: a tool that waits for a tool must never wait for its turn."""

import asyncio
from collections.abc import Sequence
from weakref import WeakValueDictionary

from onetool.domain.caller import Caller
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.tool import ToolSpec

MAX_DEPTH = 8
"""Tools that call tools that call tools: deeper is a circle."""


class Admission:
    """Lets calls in, and makes them wait, within their own time, while the house is full."""

    def __init__(self, max_concurrent: int) -> None:
        self._house = asyncio.Semaphore(max_concurrent)
        self._tools: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def enter(self, spec: ToolSpec, caller: Caller, deadline: float) -> Sequence[asyncio.Semaphore]:
        """Take the places that this call needs; `leave` gives them back.

        Raises ExecutionError when none becomes free in time, or when calls are nested too deeply.
        """
        if caller.depth > MAX_DEPTH:
            message = f"{spec.name} was not called: tools call each other more than {MAX_DEPTH} levels deep."
            raise ExecutionError(Reason.BUSY, message)
        taken: list[asyncio.Semaphore] = []
        try:
            for place in self._needed(spec, caller):
                if place.locked():
                    async with asyncio.timeout_at(deadline):
                        await place.acquire()
                else:
                    await place.acquire()
                taken.append(place)
        except BaseException as error:
            self.leave(taken)
            if isinstance(error, TimeoutError):
                message = f"{spec.name} was not called: too many calls are running. Try again later."
                raise ExecutionError(Reason.BUSY, message) from None
            raise
        return taken

    def leave(self, taken: Sequence[asyncio.Semaphore]) -> None:
        """Give places back."""
        for place in taken:
            place.release()

    def _needed(self, spec: ToolSpec, caller: Caller) -> list[asyncio.Semaphore]:
        """The tool's place first: who waits for that must not keep others out of the house."""
        needed = [self._place_of(spec.name, spec.max_concurrent)] if spec.max_concurrent else []
        return needed if caller.depth else [*needed, self._house]

    def _place_of(self, name: str, size: int) -> asyncio.Semaphore:
        place = self._tools.get(name)
        if place is None:
            place = self._tools[name] = asyncio.Semaphore(size)
        return place
