"""How many calls run at once. Inner calls need no place in the house: whoever makes them holds one."""

from collections.abc import Sequence
from weakref import WeakValueDictionary

from onetool.domain.caller import Caller
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.tool import ToolSpec
from onetool.ports import RateLimiter

from .places import Places

MAX_DEPTH = 8
"""Tools that call tools that call tools: deeper is a circle."""


class Admission:
    """Lets calls in, and makes them wait, within their own time, while the house is full."""

    def __init__(self, max_concurrent: int, rates: RateLimiter) -> None:
        self._rates = rates
        self._house = Places(max_concurrent)
        self._tools: WeakValueDictionary[str, Places] = WeakValueDictionary()

    async def enter(self, spec: ToolSpec, caller: Caller, deadline: float) -> Sequence[Places]:
        """Take the places that this call needs; `leave` gives them back.

        Raises ExecutionError when none becomes free in time, or when calls are nested too deeply.
        """
        if caller.depth > MAX_DEPTH:
            message = f"{spec.name} was not called: tools call each other more than {MAX_DEPTH} levels deep."
            raise ExecutionError(Reason.BUSY, message)
        if spec.max_calls_per_minute is not None:
            self._check_rate(spec, spec.max_calls_per_minute)
        taken: list[Places] = []
        try:
            for places in self._needed(spec, caller):
                if not places.take():
                    await places.wait(deadline)
                taken.append(places)
        except BaseException as error:
            self.leave(taken)
            if isinstance(error, TimeoutError):
                message = f"{spec.name} was not called: too many calls are running. Try again later."
                raise ExecutionError(Reason.BUSY, message) from None
            raise
        return taken

    def _check_rate(self, spec: ToolSpec, per_minute: int) -> None:
        wait = self._rates.take(spec.name, per_minute)
        if wait > 0:
            message = f"{spec.name} was not called: it may be called {per_minute} times a minute."
            raise ExecutionError(Reason.RATE_LIMITED, f"{message} Try again in {wait:.0f} s.")

    def leave(self, taken: Sequence[Places]) -> None:
        """Give places back."""
        for places in taken:
            places.give()

    def _needed(self, spec: ToolSpec, caller: Caller) -> Sequence[Places]:
        """The tool's place first: who waits for that must not keep others out of the house."""
        house = () if caller.depth else (self._house,)
        return (
            house
            if spec.max_concurrent is None
            else (self._places_of(spec.name, spec.max_concurrent), *house)
        )

    def _places_of(self, name: str, size: int) -> Places:
        places = self._tools.get(name)
        if places is None:
            places = self._tools[name] = Places(size)
        return places
