"""Limits on how many calls run at once and how often a tool is called."""

from collections.abc import Sequence
from weakref import WeakValueDictionary

from onetool.domain.calls.caller import Caller
from onetool.domain.errors import ExecutionError, Reason
from onetool.domain.tools.tool import ToolSpec
from onetool.ports import RateLimiter

from .slots import SlotLease, Slots

MAX_DEPTH = 8
"""Limit for tools that call tools; deeper nesting is assumed to be a loop."""


class Admission:
    """Admits calls within the limits. A call waits for a free slot until its deadline, but not for approval.

    Nested calls need no global slot, because the outermost call already holds one. It outlives reloads, so
    that calls in progress count.
    """

    def __init__(self, max_concurrent: int, rates: RateLimiter) -> None:
        self._rates = rates
        self._global_slots = Slots(max_concurrent)
        self._tool_slots: WeakValueDictionary[str, Slots] = WeakValueDictionary()

    def resize(self, max_concurrent: int) -> None:
        """Change how many calls run at once."""
        self._global_slots.resize(max_concurrent)

    async def check(self, spec: ToolSpec, caller: Caller) -> None:
        """Check the limits that do not depend on other running calls.

        Raises:
            ExecutionError: The rate limit is exceeded, or calls are nested too deeply.
        """
        if caller.depth > MAX_DEPTH:
            message = f"{spec.name} was not called: tools call each other more than {MAX_DEPTH} levels deep."
            raise ExecutionError(Reason.BUSY, message)
        if spec.max_calls_per_minute is not None:
            await self._check_rate(spec, spec.max_calls_per_minute)

    async def acquire(self, spec: ToolSpec, caller: Caller, deadline: float) -> SlotLease:
        """Acquire the slots that this call needs. Close the lease afterwards.

        Raises:
            ExecutionError: No slot became free in time.
        """
        lease = SlotLease(self._required_slots(spec, caller), None if caller.depth else caller.pauses)
        try:
            await lease.open(deadline)
        except TimeoutError:
            message = f"{spec.name} was not called: too many calls are running. Try again later."
            raise ExecutionError(Reason.BUSY, message) from None
        return lease

    async def _check_rate(self, spec: ToolSpec, per_minute: int) -> None:
        wait_s = await self._rates.take(spec.name, per_minute)
        if wait_s > 0:
            message = f"{spec.name} was not called: it is limited to {per_minute} calls per minute."
            raise ExecutionError(Reason.RATE_LIMITED, f"{message} Try again in {wait_s:.0f} s.")

    def _required_slots(self, spec: ToolSpec, caller: Caller) -> Sequence[Slots]:
        """Return the tool's slots first: a call that waits for those must not occupy a global slot."""
        global_slots = () if caller.depth else (self._global_slots,)
        if spec.max_concurrent is None:
            return global_slots
        return (self._slots_of(spec.name, spec.max_concurrent), *global_slots)

    def _slots_of(self, name: str, size: int) -> Slots:
        slots = self._tool_slots.get(name)
        if slots is None:
            slots = self._tool_slots[name] = Slots(size)
        slots.resize(size)  # the tool may have been changed while calls of it are in progress
        return slots
