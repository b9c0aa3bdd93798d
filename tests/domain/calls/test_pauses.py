"""Pauses: no time passes for a call that waits for an answer, and it occupies nothing."""

import asyncio

import pytest

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Context, Invocation
from onetool.domain.calls.pauses import Pauses
from onetool.domain.calls.question import Answer, Asker, Question
from support.virtual_clock import virtual_time, with_virtual_clock


class Occupation:
    """Records whether something is occupied."""

    def __init__(self) -> None:
        self.is_occupied = True
        self.waited: list[bool] = []

    def release(self) -> None:
        self.is_occupied = False

    async def acquire(self, *, waits: bool) -> None:
        self.waited.append(waits)
        await asyncio.sleep(0)
        self.is_occupied = True


async def pause(pauses: Pauses, begin: float, end: float, *nested: Occupation) -> None:
    await asyncio.sleep(begin)
    async with pauses.pause(nested):
        await asyncio.sleep(end - begin)


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [([(1, 4)], 3), ([(1, 4), (5, 6)], 4), ([(1, 4), (2, 7)], 6), ([(1, 9), (2, 3), (4, 5)], 8)],
    ids=["one", "two", "overlapping", "inside"],
)
@with_virtual_clock
async def test_overlapping_pauses_count_once(spans, seconds):
    pauses = Pauses(virtual_time)
    await asyncio.gather(*(pause(pauses, *span) for span in spans))
    assert pauses.seconds == pytest.approx(seconds)


@with_virtual_clock
async def test_time_of_an_open_pause_counts():
    pauses = Pauses(virtual_time)
    async with pauses.pause():
        await asyncio.sleep(3)
        assert pauses.seconds == pytest.approx(3)


@with_virtual_clock
async def test_outermost_call_occupies_nothing_until_all_pauses_have_ended():
    pauses, slot = Pauses(virtual_time), Occupation()
    pauses.add(slot)
    waiting = asyncio.gather(pause(pauses, 1, 4), pause(pauses, 2, 7))
    seen = []
    for _ in range(8):
        await asyncio.sleep(0.99)
        seen.append(slot.is_occupied)
    await waiting
    assert seen == [True, False, False, False, False, False, False, True]
    assert slot.waited == [True]


@with_virtual_clock
async def test_call_beside_the_one_that_asks_keeps_what_it_occupies():
    pauses, asking, beside = Pauses(virtual_time), Occupation(), Occupation()
    waiting = asyncio.gather(pause(pauses, 0, 3, asking), pause(pauses, 5, 8, beside))
    await asyncio.sleep(1)
    assert (asking.is_occupied, beside.is_occupied) == (False, True)
    await asyncio.sleep(5)
    assert (asking.is_occupied, beside.is_occupied) == (True, False)
    await waiting
    assert asking.is_occupied
    assert beside.is_occupied


@with_virtual_clock
async def test_call_around_two_that_ask_occupies_nothing_until_both_have_answers():
    pauses, around = Pauses(virtual_time), Occupation()
    waiting = asyncio.gather(pause(pauses, 0, 3, around), pause(pauses, 1, 8, around))
    await asyncio.sleep(5)
    assert not around.is_occupied
    await waiting
    assert around.is_occupied


@with_virtual_clock
async def test_what_is_added_during_a_pause_is_released_and_what_is_removed_is_not_touched():
    pauses, early, late = Pauses(virtual_time), Occupation(), Occupation()
    pauses.add(early)
    async with pauses.pause():
        pauses.add(late)
        pauses.remove(early)
        assert not late.is_occupied
    assert late.is_occupied
    assert not early.is_occupied


@with_virtual_clock
async def test_pause_that_begins_while_another_one_ends_is_respected():
    """The second thing must not be occupied again, because the next pause has begun by then."""
    pauses, first, second = Pauses(virtual_time), Occupation(), Occupation()
    pauses.add(first)
    pauses.add(second)
    begun, end = asyncio.Event(), asyncio.Event()

    async def next_pause() -> None:
        await begun.wait()
        async with pauses.pause():
            await end.wait()

    follows = asyncio.create_task(next_pause())
    await asyncio.sleep(0)
    async with pauses.pause():
        begun.set()
    assert second.waited == []
    assert not second.is_occupied
    end.set()
    await follows
    assert second.is_occupied


@with_virtual_clock
async def test_cancelled_call_does_not_wait_for_what_it_occupied():
    pauses, slot = Pauses(virtual_time), Occupation()
    pauses.add(slot)
    waiting = asyncio.create_task(pause(pauses, 0, 600))
    await asyncio.sleep(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert slot.waited == [False]
    assert pauses.seconds == pytest.approx(1)


@with_virtual_clock
async def test_question_of_a_caller_pauses_it_and_moves_all_its_deadlines():
    """Those of nested calls that begin before, during and after the question."""

    async def ask(question: Question) -> Answer:
        await asyncio.sleep(90)
        return Answer("accept", {"message": question.message})

    slot = Occupation()
    outermost = Caller(interface="mcp", deadline=60.0, asker=Asker(ask), pauses=Pauses(virtual_time))
    nested = outermost.nested(50.0, "id").occupying(slot)
    invocation = Invocation("1", "a.b", {}, nested, 40.0, CancelFlag())
    answer = await nested.ask(Question(kind="form", message="x"))
    assert answer.fields == {"message": "x"}
    assert slot.waited == [True]
    assert (outermost.current_deadline, nested.current_deadline) == pytest.approx((150, 140))
    assert invocation.deadline == Context(invocation).deadline == pytest.approx(130)
    assert invocation.nested_caller().current_deadline == pytest.approx(130)
    assert nested.nested(1_000.0, "id").current_deadline == pytest.approx(140)


def test_caller_without_a_deadline_has_none_after_pauses_either():
    assert Caller(interface="mcp").current_deadline is None
