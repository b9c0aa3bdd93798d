"""Limits on how many calls run at once and how often they are made."""

import math
from collections.abc import Sequence
from weakref import WeakValueDictionary

from onetool.domain.calls.caller import Caller
from onetool.domain.errors import ExecutionError, LimitExceeded, Reason
from onetool.domain.identity.workspace_limits import WorkspaceLimits
from onetool.domain.tools.tool import ToolSpec
from onetool.ports import CallLeases, RateLimiter

from .leased_slots import LeasedSlots
from .slots import AnySlots, SlotLease, Slots

MAX_DEPTH = 8
"""Limit for tools that call tools; deeper nesting is assumed to be a loop."""
BUSY_RETRY_S = 1.0
"""Seconds after which a call that found no free slot may be tried again."""


class Admission:
    """Admits calls within the limits. A call waits for a free slot until its deadline, but not for approval.

    Nested calls need no global slot, because the outermost call already holds one. It outlives reloads, so
    that calls in progress count.
    """

    def __init__(
        self,
        max_concurrent: int,
        rates: RateLimiter,
        shared: AnySlots | None = None,
        leases: CallLeases | None = None,
    ) -> None:
        """Create the slots.

        shared: slots of a process that runs calls of other workspaces too.
        leases: counts the calls of a tool at all replicas; by default, only those of this process count.
        """
        self._rates, self._leases = rates, leases
        self._global_slots = Slots(max_concurrent)
        self._outermost_slots: tuple[AnySlots, ...] = (self._global_slots, *((shared,) if shared else ()))
        self._tool_slots: WeakValueDictionary[str, Slots] = WeakValueDictionary()
        self._leased_slots: WeakValueDictionary[str, LeasedSlots] = WeakValueDictionary()
        self._limits: WorkspaceLimits | None = None

    def configure(self, max_concurrent: int, limits: WorkspaceLimits | None = None) -> None:
        """Change how many calls run at once.

        limits: those of a workspace, which its settings cannot exceed.
        """
        self._limits = limits
        if limits is not None and limits.concurrent_calls is not None:
            max_concurrent = min(max_concurrent, limits.concurrent_calls)
        self._global_slots.resize(max_concurrent)

    async def check(self, spec: ToolSpec, caller: Caller) -> None:
        """Check the limits that do not depend on other running calls.

        Raises:
            ExecutionError: A rate limit is exceeded, or calls are nested too deeply.
        """
        if caller.depth > MAX_DEPTH:
            message = f"{spec.name} was not called: tools call each other more than {MAX_DEPTH} levels deep."
            raise ExecutionError(Reason.BUSY, message)
        if self._limits is not None:
            await self._check_workspace(spec.name, caller.principal.id, self._limits)
        if spec.max_calls_per_minute is not None:
            await self._check_rate(spec.name, f"tool:{spec.name}", "it", spec.max_calls_per_minute)

    async def acquire(self, spec: ToolSpec, caller: Caller, deadline: float) -> SlotLease:
        """Acquire the slots that this call needs. Close the lease afterwards.

        Raises:
            ExecutionError: No slot became free in time.
        """
        lease = SlotLease(self._required_slots(spec, caller), None if caller.depth else caller.pauses)
        try:
            await lease.open(deadline)
        except TimeoutError:
            raise self._busy(spec.name, lease) from None
        return lease

    async def _check_workspace(self, name: str, principal: str, limits: WorkspaceLimits) -> None:
        if limits.principal_calls_per_minute is not None:
            key, subject = f"principal:{principal}", f"{principal!r}"
            await self._check_rate(name, key, subject, limits.principal_calls_per_minute)
        if limits.calls_per_minute is not None:
            await self._check_rate(name, "workspace", "the workspace", limits.calls_per_minute)

    async def _check_rate(self, name: str, key: str, subject: str, per_minute: int) -> None:
        wait_s = await self._rates.take(key, per_minute)
        if wait_s > 0:
            message = f"{name} was not called: {subject} is limited to {per_minute} calls per minute."
            raise LimitExceeded(f"{message} Try again in {math.ceil(wait_s)} s.", wait_s)

    def _busy(self, name: str, lease: SlotLease) -> LimitExceeded:
        """Return why a call got no slot in time."""
        message = f"{name} was not called: too many calls are running."
        limit = self._limits.concurrent_calls if self._limits is not None else None
        if limit is None or lease.blocked_by is not self._global_slots or self._global_slots.size < limit:
            return LimitExceeded(f"{message} Try again later.", BUSY_RETRY_S, Reason.BUSY)
        message = f"{message} The workspace is limited to {limit} at a time. Try again later."
        return LimitExceeded(message, BUSY_RETRY_S)

    def _required_slots(self, spec: ToolSpec, caller: Caller) -> Sequence[AnySlots]:
        """Return the tool's slots first: a call that waits for those must not occupy a global slot."""
        global_slots = () if caller.depth else self._outermost_slots
        if spec.max_concurrent is None:
            return global_slots
        return (*self._slots_of(spec.name, spec.max_concurrent), *global_slots)

    def _slots_of(self, name: str, size: int) -> Sequence[AnySlots]:
        """Return the slots of a tool. It may have been changed while calls of it are in progress."""
        slots = self._tool_slots.get(name)
        if slots is None:
            slots = self._tool_slots[name] = Slots(size)
        slots.resize(size)
        if self._leases is None:
            return (slots,)
        leased = self._leased_slots.get(name)
        if leased is None:
            leased = self._leased_slots[name] = LeasedSlots(self._leases, f"tool:{name}", size)
        leased.size = size
        return slots, leased
