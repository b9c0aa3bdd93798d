"""Questions of a server's call: which call they belong to, and what a server may ask."""

import asyncio

import pytest

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.question import Answer, Asker, Question
from onetool.domain.errors import ExecutionError, Reason
from onetool.sources.mcp_servers.questions import ELICITATION, CallQuestions, QuestionRefused
from onetool.sources.mcp_servers.session_questions import SessionQuestions
from support.virtual_clock import with_virtual_clock

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}}
DECLARED = {"elicitation": {"form": {}, "url": {}}}


def form(message: str) -> dict:
    return {"message": message, "requestedSchema": SCHEMA}


def questions_of(ask) -> CallQuestions:
    caller = Caller(interface="mcp", asker=Asker(ask, DECLARED))
    return CallQuestions("gh", caller, is_enabled=True, sampling="never")


async def accept(question: Question) -> Answer:
    return Answer("accept", {"name": question.message})


@with_virtual_clock
async def test_refused_question_closes_those_that_were_asked_with_it():
    open_questions = []

    async def ask(question: Question) -> Answer:
        if question.message == "refused":
            await asyncio.sleep(1)
            raise ExecutionError(Reason.BUSY, "too many")
        open_questions.append(question)
        try:
            return await asyncio.Event().wait()
        finally:
            open_questions.remove(question)

    names = {name: {"method": ELICITATION, "params": form(name)} for name in ("first", "refused")}
    questions = questions_of(ask)
    with pytest.raises(ExecutionError, match="too many"):
        await questions.continue_call({}, {"inputRequests": names})
    assert open_questions == []
    assert questions._caller.pauses.seconds < 600


@with_virtual_clock
async def test_call_waits_for_one_that_began_before_the_first_question():
    """Otherwise it would not be clear to which of them the next question belongs."""
    session, first, second = SessionQuestions(), questions_of(accept), questions_of(accept)
    order = []

    async def next_call() -> None:
        async with session.call(second):
            order.append("second")

    async with session.call(first):
        await session.answer(ELICITATION, form("one"))
        following = asyncio.create_task(next_call())
        await asyncio.sleep(1)
        assert (await session.answer(ELICITATION, form("two")))["content"] == {"name": "two"}
        order.append("first")
    await following
    assert order == ["first", "second"]
    assert first.note == second.note == ""


@with_virtual_clock
async def test_call_that_is_cancelled_while_it_waits_for_its_turn_blocks_no_other():
    session, first = SessionQuestions(), questions_of(accept)

    async def next_call() -> str:
        async with session.call(questions_of(accept)):
            return "done"

    async with session.call(first):
        await session.answer(ELICITATION, form("one"))
        cancelled, following = asyncio.create_task(next_call()), asyncio.create_task(next_call())
        await asyncio.sleep(1)
        cancelled.cancel()
    assert await asyncio.wait_for(following, 1) == "done"


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"mode": "url", "message": "x", "url": "http://[bad"}, "invalid URL"),
        (form("x" * 300_000), "more than 262,144 bytes"),
    ],
)
async def test_request_that_no_client_can_show_is_refused(params, problem):
    request = {"inputRequests": {"q": {"method": ELICITATION, "params": params}}}
    with pytest.raises(QuestionRefused, match=problem):
        await questions_of(accept).continue_call({}, request)


async def test_characters_that_utf_8_cannot_encode_are_replaced():
    request = {"inputRequests": {"q": {"method": ELICITATION, "params": form("Name \ud800?")}}}
    answered = await questions_of(accept).continue_call({}, request)
    assert answered["inputResponses"]["q"]["content"] == {"name": "Name ??"}
