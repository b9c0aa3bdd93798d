"""Slots that workspaces share: a workspace with very many calls delays no other one."""

import asyncio
import random

import pytest

from onetool.domain.calls.pauses import Pauses
from onetool.pipeline.fair_slots import MIN_SHARE, FairSlots, WorkspaceSlots
from onetool.pipeline.slots import SlotLease
from support.virtual_clock import virtual_time, with_virtual_clock


class Workspace:
    """A workspace whose calls hold a slot until the test ends them; `served` is common to all."""

    def __init__(self, name: str, slots: FairSlots, served: list[str]) -> None:
        self.name, self.slots, self._served = name, slots.workspace(), served
        self._ends: list[asyncio.Event] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def begin(self, calls: int) -> None:
        self.tasks += [asyncio.create_task(self._call()) for _ in range(calls)]
        await settle()

    async def end(self, calls: int = 1) -> None:
        for _ in range(calls):
            self._ends.pop(0).set()
            await settle()

    async def _call(self) -> None:
        if not self.slots.try_acquire():
            await self.slots.wait(None)
        self._served.append(self.name)
        end = asyncio.Event()
        self._ends.append(end)
        await end.wait()
        self.slots.release()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def served() -> list[str]:
    return []


async def cancel(*workspaces: Workspace) -> None:
    for task in (tasks := [task for own in workspaces for task in own.tasks]):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_calls_that_wait_are_counted(served):
    slots = FairSlots(2)
    first, second = Workspace("first", slots, served), Workspace("second", slots, served)
    await first.begin(4)
    await second.begin(MIN_SHARE + 3)
    waiting = slots.waiting
    assert waiting == 4 + MIN_SHARE + 3 - len(served)
    await second.end()
    assert slots.waiting == 4 + MIN_SHARE + 3 - len(served) < waiting
    await cancel(first, second)
    assert slots.waiting == 0


async def test_single_workspace_may_use_all_slots(served):
    flood = Workspace("flood", FairSlots(8), served)
    await flood.begin(20)
    assert len(served) == 8
    await flood.end(3)
    assert len(served) == 11
    await cancel(flood)


async def test_call_of_another_workspace_does_not_wait_for_a_flood(served):
    """160 calls of one workspace occupy all slots and wait: the calls of others run at once."""
    slots = FairSlots(8)
    flood, other, third = (Workspace(name, slots, served) for name in ("flood", "other", "third"))
    await flood.begin(160)
    await other.begin(MIN_SHARE)
    await third.begin(MIN_SHARE)
    assert served[8:] == ["other"] * MIN_SHARE + ["third"] * MIN_SHARE
    await flood.end(4)
    assert flood.slots.used == MIN_SHARE, "beyond its share, it gets nothing while there are no free slots"
    await flood.end(1)
    assert flood.slots.used == MIN_SHARE, "its share is always its own"
    await cancel(flood, other, third)


async def test_calls_that_wait_in_a_workspace_wait_only_for_its_own_calls(served):
    """However many calls of another workspace wait, none of them is ahead."""
    slots = FairSlots(8)
    flood, other = Workspace("flood", slots, served), Workspace("other", slots, served)
    await flood.begin(200)
    await other.begin(20)
    assert served[8:] == ["other"] * MIN_SHARE
    served.clear()
    for ended in range(1, 11):
        await other.end()
        assert served == ["other"] * ended
    await cancel(flood, other)


async def test_free_slots_go_to_the_workspaces_that_wait_in_turn(served):
    slots = FairSlots(32)
    holder, *others = (Workspace(name, slots, served) for name in ("holder", "a", "b", "c"))
    await holder.begin(32)
    for own in others:
        await own.begin(slots.size // 4)
    for own, calls in zip(others, (100, 3, 1), strict=True):
        await own.begin(calls)
    assert [own.slots.used for own in others] == [8, 8, 8]
    served.clear()
    await holder.end(32)
    assert served == ["a", "b", "c", "a", "b", "a", "b", "a"]
    await cancel(holder, *others)


async def test_share_grows_again_when_others_end(served):
    slots = FairSlots(16)
    flood, other = Workspace("flood", slots, served), Workspace("other", slots, served)
    await other.begin(10)
    await flood.begin(30)
    assert (flood.slots.used, slots.share) == (8, 8)
    await other.end(10)
    assert (flood.slots.used, slots.share) == (16, 16)
    await cancel(flood, other)


async def test_slot_of_a_cancelled_call_goes_to_the_next(served):
    slots = FairSlots(4)
    flood = Workspace("flood", slots, served)
    await flood.begin(7)
    flood.tasks[4].cancel()
    flood.tasks[5].cancel()
    await flood.end()
    assert (len(served), slots.used) == (5, 4)
    flood.tasks[0].cancel()
    await flood.end(4)
    assert slots.used == 0
    await cancel(flood)


async def test_slot_that_is_assigned_to_a_cancelled_call_is_released():
    slots = FairSlots(4)
    own = slots.workspace()
    assert [own.try_acquire() for _ in range(5)] == [True] * 4 + [False]
    waiting = asyncio.create_task(own.wait(None))
    await asyncio.sleep(0)
    own.release()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (slots.used, own.try_acquire(), own.try_acquire()) == (3, True, False)


@with_virtual_clock
async def test_call_waits_until_its_deadline():
    own = FairSlots(4).workspace()
    for _ in range(4):
        assert own.try_acquire()
    with pytest.raises(TimeoutError):
        await own.wait(virtual_time() + 5)
    own.release()
    assert own.try_acquire()


@with_virtual_clock
async def test_call_that_waits_for_approval_leaves_its_slot_to_others():
    slots = FairSlots(4)
    own = slots.workspace()
    pauses = Pauses(virtual_time)
    lease = SlotLease([own], pauses)
    await lease.open()
    async with pauses.pause():
        assert slots.used == 0
    assert slots.used == 1
    lease.close()
    assert slots.used == 0


@pytest.mark.stress
async def test_no_slot_is_lost_or_used_twice_whatever_happens(size):
    """Calls of many workspaces begin, end, wait and are cancelled at random."""
    dice, slots = random.Random(20261117), FairSlots(12)
    owners = [slots.workspace() for _ in range(6)]

    async def run(own: WorkspaceSlots) -> None:
        if not own.try_acquire():
            await own.wait(None)
        try:
            for _ in range(dice.randrange(4)):
                await asyncio.sleep(0)
        finally:
            own.release()

    for _ in range(size(30, 3_000)):
        tasks = [asyncio.create_task(run(dice.choice(owners))) for _ in range(60)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            dice.choice(tasks).cancel()
            assert slots.used == sum(own.used for own in owners) <= 12 + 6 * MIN_SHARE
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (slots.used, slots.share) == (0, 12)
