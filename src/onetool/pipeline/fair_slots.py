"""The slots of a process that runs calls of many workspaces, so that none of them delays the others."""

import asyncio
from collections import OrderedDict, deque

from .slots import wait_for_slot

MIN_SHARE = 4
"""Slots that each workspace may always use."""


class FairSlots:
    """A number of slots that workspaces share.

    A workspace may always use its share: the slots divided by the workspaces that have calls, but at least
    MIN_SHARE. It gets more only while slots are free and no workspace waits that uses less than its share. So
    there may be more calls than slots for a while, when workspaces begin that had no calls. Calls that wait
    are served in turn, one of each workspace.
    """

    def __init__(self, size: int) -> None:
        self.size = self.share = size
        self.used = 0
        self._active = 0
        self._waiting: OrderedDict[WorkspaceSlots, None] = OrderedDict()
        """Workspaces with calls that wait; the first one is served next."""

    def workspace(self) -> "WorkspaceSlots":
        """Return the slots of a workspace."""
        return WorkspaceSlots(self)

    @property
    def has_free(self) -> bool:
        """Whether a workspace may use more than its share."""
        return self.used < self.size and not self._waiting

    @property
    def waiting(self) -> int:
        """How many calls wait for a slot."""
        return sum(workspace.waiting for workspace in self._waiting)

    def count_active(self, change: int) -> None:
        """Count a workspace that has its first call, or with -1, no call any more."""
        self._active += change
        self.share = max(MIN_SHARE, self.size // max(1, self._active))

    def add_waiting(self, workspace: "WorkspaceSlots") -> None:
        """Serve a workspace after those that wait already."""
        self._waiting.setdefault(workspace)

    def assign(self) -> None:
        """Give free slots to calls that wait, in turn."""
        while self._waiting and self._assign_next():
            pass

    def _assign_next(self) -> bool:
        """Serve a workspace that does not use its share; if there is none, the first one with a free slot."""
        below_share = (workspace for workspace in self._waiting if workspace.used < self.share)
        first = next(iter(self._waiting)) if self.used < self.size else None
        workspace = next(below_share, first)
        if workspace is None:
            return False
        del self._waiting[workspace]
        if workspace.serve():
            self._waiting[workspace] = None  # behind the others
        return True


class WorkspaceSlots:
    """The slots that the calls of one workspace use. Acquired and released as `Slots` are."""

    __slots__ = ("_all", "_waiters", "used")

    def __init__(self, all_slots: FairSlots) -> None:
        self._all, self.used = all_slots, 0
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """How many calls of the workspace wait for a slot."""
        return sum(not waiter.done() for waiter in self._waiters)

    def try_acquire(self) -> bool:
        """Acquire a slot if the workspace may use one more and none of its calls waits."""
        if self._waiters or (self.used >= self._all.share and not self._all.has_free):
            return False
        self._occupy()
        return True

    async def wait(self, deadline: float | None) -> None:
        """Wait for a slot and acquire it.

        Raises:
            TimeoutError: No slot became free before the deadline.
        """
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._all.add_waiting(self)
        await wait_for_slot(self, waiter, deadline)

    def release(self) -> None:
        """Release a slot: assign it to a call that waits, if there is one."""
        self.used -= 1
        self._all.used -= 1
        if not self.used:
            self._all.count_active(-1)
        self._all.assign()

    def serve(self) -> bool:
        """Give a slot to the first call that still waits. Return whether others wait too."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                self._occupy()
                waiter.set_result(None)
                break
        return bool(self._waiters)

    def _occupy(self) -> None:
        if not self.used:
            self._all.count_active(1)
        self.used += 1
        self._all.used += 1
