"""One suite for every chat model behind a provider's API."""

import asyncio
import json
import logging
import traceback

import pytest

from chat_models.harness import OFFERS, QUESTION
from chat_models.loopback import KEY, Called, Said, Status, Trouble
from onetool.domain.chat import Message, Reply, TokenCount, ToolCallRequest


async def test_text_comes_in_pieces_and_whole(talk):
    """Each piece is handed on as it comes; the reply has all of it and what it cost."""
    talk.server.answers = [Said(text=["It is ", "", "noon. ", "好"])]
    assert await talk.ask() == Reply(text="It is noon. 好", tokens=TokenCount(input=11, output=7), stop="end")
    assert talk.heard == ["It is ", "noon. ", "好"]


async def test_pieces_may_be_cut_anywhere(talk):
    """In the middle of a line, of a character, of a call: the reply is the same."""
    talk.server.answers = [
        Said(
            text=["你好, ", "welt"],
            calls=[Called("fs__read_file", ['{"pa', 'th": "ü', '.txt"}'], id="c1")],
            stop="calls",
        )
    ]
    whole = await talk.ask()
    for talk.server.shred in (1, 3, 7):
        again = await talk.ask()
        assert (again.text, again.stop, again.tokens) == (whole.text, whole.stop, whole.tokens)
        assert [call.arguments_text for call in again.calls] == [whole.calls[0].arguments_text]


async def test_several_calls_and_text_in_one_turn(talk):
    """In their order, each with an id of its own, under the names of the catalog."""
    talk.server.answers = [
        Said(
            text=["Let me see."],
            calls=[
                Called("fs__read_file", ['{"path"', ':"a"}'], id="c1"),
                Called("time__now", ["{}"], id="c2"),
                Called("fs__read_file", ['{"path":"b"}'], id="c3"),
            ],
            stop="calls",
        )
    ]
    reply = await talk.ask()
    assert (reply.text, reply.stop) == ("Let me see.", "calls")
    assert [call.name for call in reply.calls] == ["fs.read_file", "time.now", "fs.read_file"]
    assert [json.loads(call.arguments_text) for call in reply.calls] == [{"path": "a"}, {}, {"path": "b"}]
    assert len({call.id for call in reply.calls}) == 3


async def test_calls_without_any_text(talk):
    """No text is no text: nothing is handed on. Arguments that were left out are none."""
    talk.server.answers = [Said(calls=[Called("time__now", [], id="c1")], stop="calls")]
    reply = await talk.ask()
    assert (reply.text, talk.heard, reply.stop) == ("", [], "calls")
    assert reply.calls[0].arguments_text == "{}"


@pytest.mark.parametrize("stop", ["end", "length", "refused"])
async def test_why_it_stopped(talk, stop):
    """An end, a cut and a refusal are told apart; Ollama's models refuse in words alone."""
    if stop == "refused" and talk.chat.name == "ollama":
        return
    talk.server.answers = [Said(text=["x"], stop=stop)]
    assert (await talk.ask()).stop == stop


async def test_an_empty_answer(talk):
    """A model may say nothing at all."""
    talk.server.answers = [Said()]
    assert await talk.ask() == Reply(tokens=TokenCount(input=11, output=7))


async def test_costs_may_be_unknown(talk):
    """Where the provider does not count, nobody makes figures up."""
    talk.server.answers = [Said(text=["x"], usage=None)]
    assert (await talk.ask()).tokens is None


async def test_a_name_that_was_made_up_stays(talk):
    """It is for the loop to say that there is no such tool."""
    talk.server.answers = [Said(calls=[Called("rm__all", id="a"), Called("time.now", id="b")], stop="calls")]
    assert [call.name for call in (await talk.ask()).calls] == ["rm__all", "time.now"]


async def test_a_conversation_with_tool_results(talk):
    """What was asked, called and answered goes back in the provider's own shape, and is accepted."""
    talk.server.answers = [
        Said(
            text=["One moment."],
            calls=[Called("time__now", id="c1"), Called("fs__read_file", ['{"path":"a"}'], id="c2")],
            stop="calls",
        ),
        Said(text=["Noon."]),
        Said(text=["Bye."]),
    ]
    first = await talk.ask()
    results = [
        Message(role="tool", call_id=call.id, name=call.name, text=text, failed=failed)
        for call, text, failed in zip(
            first.calls, ['{"iso": "12:00"}', "no such file"], [False, True], strict=True
        )
    ]
    so_far = [*QUESTION, first.message(), *results]
    second = await talk.ask(messages=so_far)
    assert (second.text, second.stop) == ("Noon.", "end")
    third = await talk.ask(
        messages=[*so_far, second.message(), Message(role="user", text="Thanks")], offers=()
    )
    assert third.text == "Bye."
    sent = json.dumps(talk.server.bodies[-1])
    assert "no such file" in sent
    assert "12:00" in sent


async def test_odd_histories_are_accepted(talk):
    """Empty turns, rubbish in arguments, halves of characters, tools that are no longer offered."""
    call = ToolCallRequest(id="call_1", name="gone.away", arguments_text='{"a": nonsense')
    messages = [
        *QUESTION,
        Message(role="assistant"),
        Message(role="user", text="half: \ud83d"),
        Message(role="assistant", calls=(call,)),
        Message(role="tool", call_id="call_1", name="gone.away", text="", failed=True),
        Message(role="system", text="And kind."),
        Message(role="user", text="Go on"),
        Message(role="user", text="please"),
    ]
    assert (await talk.ask(messages=messages)).text == "ok"
    assert (await talk.ask(messages=messages, offers=())).text == "ok"
    assert "gone__away" in json.dumps(talk.server.bodies[-1])


async def test_a_call_that_was_cut_off_is_not_made(talk):
    """At the limit of its length a model is stopped in the middle of the arguments."""
    talk.server.answers = [Said(text=["x"], calls=[Called("time__now", ['{"a": '], id="c1")], stop="length")]
    reply = await talk.ask()
    assert (reply.calls, reply.stop) == ((), "length")


@pytest.mark.parametrize(
    ("status", "kind", "attempts"),
    [
        (401, "auth", 1),
        (403, "auth", 1),
        (400, "rejected", 1),
        (404, "rejected", 1),
        (302, "rejected", 1),
        (429, "rate_limited", 2),
        (500, "unreachable", 2),
        (503, "unreachable", 2),
        (529, "unreachable", 2),
    ],
)
async def test_statuses(talk, status, kind, attempts):
    """Each has its kind; what may be over soon is tried once more, and no more."""
    talk.server.answers = [Status(status, {"Location": "http://127.0.0.1:1/"}, said=f"sorry about {KEY}")]
    failed = await talk.fail()
    assert (failed.kind, len(talk.server.requests)) == (kind, attempts)
    assert str(status) in str(failed)
    assert talk.waits == [0.5] * (attempts - 1)


async def test_a_wait_that_is_asked_for_is_kept(talk, caplog):
    """`Retry-After` up to 20 seconds, then the answer comes; the log tells of it."""
    caplog.set_level(logging.INFO, "onetool.chat_models")
    talk.server.answers = [Status(429, {"Retry-After": "7"}), Said(text=["here"])]
    assert (await talk.ask()).text == "here"
    assert talk.waits == [7.0]
    (record,) = [one for one in caplog.records if one.name.startswith("onetool")]
    assert (record.provider, record.kind, record.wait_s) == (talk.chat.name, "rate_limited", 7.0)


@pytest.mark.parametrize("wait", ["21", "15"])
async def test_nobody_waits_too_long(talk, wait):
    """Over 20 seconds, or past the deadline: the failure says how long, and it comes at once."""
    talk.server.answers = [Status(429, {"Retry-After": wait}, said="slow down")]
    failed = await talk.fail(seconds=14)
    assert (failed.kind, failed.retry_after, talk.waits) == ("rate_limited", float(wait), [])
    assert "slow down" in str(failed)


async def test_a_connection_that_breaks_before_the_answer_is_tried_once_more(talk):
    """Hanging up at once costs one more attempt."""
    talk.server.answers = [Trouble("cut"), Said(text=["here"])]
    assert (await talk.ask()).text == "here"
    talk.server.answers = [Trouble("cut")]
    talk.server.requests.clear()
    assert (await talk.fail()).kind == "unreachable"
    assert len(talk.server.requests) == 2


async def test_nobody_is_there(talk):
    """A port where nothing listens."""
    await talk.server.__aexit__()
    failed = await talk.fail()
    assert failed.kind == "unreachable"
    assert talk.server.base_url in str(failed)


@pytest.mark.parametrize("then", ["cut", "end"])
async def test_an_answer_that_breaks_off_is_not_asked_for_again(talk, then):
    """Cut off, or ended without an end: what was said has been heard, and saying it twice would be wrong."""
    frames = talk.server.frames(Said(text=["half a "]))
    talk.server.answers = [Trouble(then, frames=frames[: talk.server.half])]
    failed = await talk.fail()
    assert (failed.kind, len(talk.server.requests)) == ("unreachable", 1)


async def test_rubbish_in_the_stream(talk):
    """Not JSON, or JSON of another shape: a failure in words, never a crash."""
    start = talk.server.frames(Said(text=["a"]))[:1]
    for rubbish in (b"{nonsense", b"\xff\xfe"):
        talk.server.answers = [Trouble("", frames=[*start, talk.server.frame(rubbish)])]
        assert (await talk.fail()).kind == "rubbish", rubbish


@pytest.mark.parametrize(
    "shape",
    [
        "42",
        "[]",
        "null",
        '"x"',
        "{}",
        '{"choices": 3}',
        '{"choices": [null, 4]}',
        '{"choices": [{"delta": []}]}',
        '{"candidates": 5}',
        '{"message": 7, "done": "no"}',
        '{"type": "content_block_delta", "delta": 7}',
    ],
)
async def test_json_of_another_shape(talk, shape):
    """Whatever it is, the failure is one of ours."""
    talk.server.answers = [Trouble("", frames=[talk.server.frame(shape.encode())])]
    assert (await talk.fail()).kind in ("rubbish", "unreachable", "rejected")


@pytest.mark.parametrize("frames", [0, 2])
async def test_the_deadline_ends_the_wait(talk, frames):
    """Before the answer or in the middle of it; the connection is let go."""
    await talk.ask()
    talk.server.left.clear()
    talk.server.answers = [Trouble("hang", frames=talk.server.frames(Said(text=["a", "b"]))[:frames])]
    failed = await talk.fail(seconds=0.3)
    assert failed.kind == "timeout"
    async with asyncio.timeout(5):
        await talk.server.left.wait()


async def test_cancelling_lets_go_of_the_connection(talk):
    """Whoever asked may leave at any time."""
    await talk.ask()
    talk.server.left.clear()
    frames = talk.server.frames(Said(text=["a", "b"]))
    talk.server.answers = [Trouble("hang", frames=frames[: talk.server.half])]
    heard = asyncio.Event()
    task = asyncio.create_task(
        talk.chat.reply(
            QUESTION, OFFERS, on_text=lambda _: heard.set(), deadline=asyncio.get_running_loop().time() + 60
        )
    )
    async with asyncio.timeout(5):
        await heard.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await talk.server.left.wait()


@pytest.mark.parametrize("kind", [ValueError, TimeoutError, AttributeError])
async def test_what_the_listener_raises_is_raised(talk, kind):
    """An error of ours is not taken for one of the provider's."""
    talk.server.answers = [Said(text=["a", "b"])]

    def listen(text):
        raise kind(text)

    deadline = asyncio.get_running_loop().time() + 20
    with pytest.raises(kind, match=r"^a$"):
        await talk.chat.reply(QUESTION, OFFERS, on_text=listen, deadline=deadline)


async def test_several_replies_at_once_share_one_client(talk):
    """The package is loaded once, whoever asks first."""
    replies = await asyncio.gather(*(talk.ask() for _ in range(5)))
    assert {reply.text for reply in replies} == {"ok"}


async def test_the_key_is_nowhere_but_in_the_request(talk, caplog):
    """Not in errors with all that hangs on them, not in logs at any level, not in what is printed."""
    caplog.set_level(logging.DEBUG)
    for answer in (
        Status(401, said=f"wrong key {KEY}"),
        Status(400, said=f"what is {KEY}?"),
        Status(500, said=f"{KEY}"),
        Trouble("cut"),
        Trouble("", frames=[talk.server.frame(b"{" + KEY.encode())]),
    ):
        talk.server.answers, talk.heard[:] = [answer], []
        failed = await talk.fail()
        shown = "".join(traceback.format_exception(failed)) + repr(failed) + repr(vars(failed))
        assert KEY not in shown
        assert failed.__cause__ is None
    assert KEY not in repr(talk.chat) + repr(talk.chat._endpoint) + caplog.text
    assert KEY in json.dumps(talk.server.requests[0].headers)
