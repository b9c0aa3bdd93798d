"""Slots of calls that pause: whatever happens, each slot is occupied at most once and released once."""

import asyncio

import pytest

from onetool.domain.calls.pauses import Pauses
from onetool.pipeline.slots import SlotLease, Slots
from support.virtual_clock import virtual_time, with_virtual_clock


def free(slots: Slots) -> int:
    """Return how many slots are free."""
    count = 0
    while slots.try_acquire():
        count += 1
    for _ in range(count):
        slots.release()
    return count


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Call:
    """An outermost call with a slot of its tool and a global one, and pauses that the test ends."""

    def __init__(self, *slots: Slots) -> None:
        self.pauses = Pauses(virtual_time)
        self.lease = SlotLease(slots, self.pauses)

    def pause(self) -> tuple["asyncio.Task[None]", asyncio.Event]:
        end = asyncio.Event()

        async def wait() -> None:
            async with self.pauses.pause():
                await end.wait()

        return asyncio.create_task(wait()), end


async def waiting_call(*slots: Slots) -> tuple[Call, "asyncio.Task[None]"]:
    """Return a call, and its pause that waits for the last slot, which another call occupies meanwhile."""
    call = Call(*slots)
    await call.lease.open()
    paused, end = call.pause()
    await settle()
    assert slots[-1].try_acquire()
    end.set()
    await settle()
    return call, paused


@pytest.mark.guards("client-jobs")
@with_virtual_clock
async def test_paused_call_leaves_its_slots_to_others():
    tool, everything = Slots(1), Slots(1)
    call = Call(tool, everything)
    await call.lease.open()
    assert (free(tool), free(everything)) == (0, 0)
    paused, end = call.pause()
    await settle()
    assert (free(tool), free(everything)) == (1, 1)
    end.set()
    await paused
    assert (free(tool), free(everything)) == (0, 0)
    call.lease.close()
    assert (free(tool), free(everything)) == (1, 1)


@with_virtual_clock
async def test_two_pauses_that_end_while_no_slot_is_free_acquire_it_once():
    """Both wait for the slot at the same time: the second pause begins and ends while the first one waits."""
    slots = Slots(1)
    call, first = await waiting_call(slots)
    second, end_second = call.pause()
    await settle()
    end_second.set()
    await settle()
    slots.release()
    await asyncio.gather(first, second)
    assert free(slots) == 0
    call.lease.close()
    assert free(slots) == 1


@with_virtual_clock
async def test_pause_that_begins_while_the_second_slot_is_waited_for_confuses_no_slots():
    """The first slot is released by the new pause; the second one arrives later and must be given back."""
    tool, everything = Slots(1), Slots(1)
    call, first = await waiting_call(tool, everything)
    assert free(tool) == 0
    second, end_second = call.pause()
    await settle()
    assert free(tool) == 1
    everything.release()
    await first
    assert (free(tool), free(everything)) == (1, 1)
    end_second.set()
    await second
    assert (free(tool), free(everything)) == (0, 0)
    call.lease.close()
    assert (free(tool), free(everything)) == (1, 1)


@with_virtual_clock
async def test_slot_that_arrives_after_the_pause_began_and_ended_again_is_not_mistaken_for_the_first():
    tool, everything = Slots(1), Slots(1)
    call, first = await waiting_call(tool, everything)
    second, end_second = call.pause()
    await settle()
    end_second.set()
    await settle()
    everything.release()
    await asyncio.gather(first, second)
    assert (free(tool), free(everything)) == (0, 0)
    call.lease.close()
    assert (free(tool), free(everything)) == (1, 1)


@with_virtual_clock
async def test_call_that_ends_while_it_waits_for_its_slot_gives_it_back():
    slots = Slots(1)
    call, paused = await waiting_call(slots)
    call.lease.close()
    slots.release()
    await paused
    assert free(slots) == 1


@with_virtual_clock
async def test_cancelled_call_does_not_wait_for_a_slot():
    slots = Slots(1)
    call = Call(slots)
    await call.lease.open()
    paused, _ = call.pause()
    await settle()
    assert slots.try_acquire()
    paused.cancel()
    await settle()
    assert paused.cancelled()
    call.lease.close()
    slots.release()
    assert free(slots) == 1


@with_virtual_clock
async def test_call_that_is_cancelled_while_another_one_waits_for_the_slot_leaves_it_to_that_one():
    slots = Slots(1)
    call, first = await waiting_call(slots)
    second, _ = call.pause()
    await settle()
    second.cancel()
    await settle()
    assert second.cancelled()
    slots.release()
    await first
    assert free(slots) == 0
    call.lease.close()
    assert free(slots) == 1


@pytest.mark.parametrize("held", [0, 1])
@with_virtual_clock
async def test_call_that_is_cancelled_before_it_has_all_slots_has_none(held):
    tool, everything = Slots(1), Slots(1)
    (everything if held else tool).try_acquire()
    call = Call(tool, everything)
    opening = asyncio.create_task(call.lease.open())
    await settle()
    opening.cancel()
    await asyncio.wait({opening})
    (everything if held else tool).release()
    assert (free(tool), free(everything)) == (1, 1)


@with_virtual_clock
async def test_call_without_slots_pauses_nothing():
    call = Call()
    await call.lease.open()
    paused, end = call.pause()
    await settle()
    end.set()
    await paused
    call.lease.close()
