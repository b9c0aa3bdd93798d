"""Contract suite of the chat models behind a provider's API."""

import asyncio
import json
import logging
import traceback

import pytest

from chat_models.harness import QUESTION, TOOLS
from chat_models.provider_server import KEY, CallTurn, Fault, Status, TextTurn
from onetool.domain.chat.messages import Message, ModelResponse, TokenCount, ToolCallRequest
from support.virtual_clock import advance_running_loop
from support.waiting import HANG_S, until


async def test_text_is_streamed_and_returned(harness):
    """Each chunk is passed on as it arrives. The response has the whole text and the token count."""
    harness.server.responses = [TextTurn(text=["It is ", "", "noon. ", "好"])]
    assert await harness.ask() == ModelResponse(
        text="It is noon. 好", tokens=TokenCount(input=11, output=7), stop="end"
    )
    assert harness.received == ["It is ", "noon. ", "好"]


async def test_stream_may_be_split_anywhere(harness):
    """In the middle of a line, a character or a call."""
    harness.server.responses = [
        TextTurn(
            text=["你好, ", "welt"],
            calls=[CallTurn("fs__read_file", ['{"pa', 'th": "ü', '.txt"}'], id="c1")],
            stop="calls",
        )
    ]
    expected = await harness.ask()
    for harness.server.chunk_size in (1, 3, 7):
        again = await harness.ask()
        assert (again.text, again.stop, again.tokens) == (expected.text, expected.stop, expected.tokens)
        assert [call.arguments_text for call in again.calls] == [expected.calls[0].arguments_text]


async def test_several_calls_and_text_in_one_turn(harness):
    """In order, with distinct ids and catalog names."""
    harness.server.responses = [
        TextTurn(
            text=["Let me see."],
            calls=[
                CallTurn("fs__read_file", ['{"path"', ':"a"}'], id="c1"),
                CallTurn("time__now", ["{}"], id="c2"),
                CallTurn("fs__read_file", ['{"path":"b"}'], id="c3"),
            ],
            stop="calls",
        )
    ]
    response = await harness.ask()
    assert (response.text, response.stop) == ("Let me see.", "calls")
    assert [call.name for call in response.calls] == ["fs.read_file", "time.now", "fs.read_file"]
    assert [json.loads(call.arguments_text) for call in response.calls] == [{"path": "a"}, {}, {"path": "b"}]
    assert len({call.id for call in response.calls}) == 3


async def test_calls_without_text(harness):
    """Missing arguments are an empty object."""
    harness.server.responses = [TextTurn(calls=[CallTurn("time__now", [], id="c1")], stop="calls")]
    response = await harness.ask()
    assert (response.text, harness.received, response.stop) == ("", [], "calls")
    assert response.calls[0].arguments_text == "{}"


@pytest.mark.parametrize("stop", ["end", "length", "refused"])
async def test_stop_reason_is_reported(harness, stop):
    """Ollama has no stop reason for refusals."""
    if stop == "refused" and harness.chat.name == "ollama":
        return
    harness.server.responses = [TextTurn(text=["x"], stop=stop)]
    assert (await harness.ask()).stop == stop


async def test_empty_response_is_valid(harness):
    harness.server.responses = [TextTurn()]
    assert await harness.ask() == ModelResponse(tokens=TokenCount(input=11, output=7))


async def test_missing_token_count_is_none(harness):
    harness.server.responses = [TextTurn(text=["x"], usage=None)]
    assert (await harness.ask()).tokens is None


async def test_invented_tool_name_is_unchanged(harness):
    """The ask loop reports that there is no such tool."""
    harness.server.responses = [
        TextTurn(calls=[CallTurn("rm__all", id="a"), CallTurn("time.now", id="b")], stop="calls")
    ]
    assert [call.name for call in (await harness.ask()).calls] == ["rm__all", "time.now"]


async def test_conversation_with_tool_results(harness):
    """The provider accepts the converted messages, calls and results."""
    harness.server.responses = [
        TextTurn(
            text=["One moment."],
            calls=[CallTurn("time__now", id="c1"), CallTurn("fs__read_file", ['{"path":"a"}'], id="c2")],
            stop="calls",
        ),
        TextTurn(text=["Noon."]),
        TextTurn(text=["Bye."]),
    ]
    first = await harness.ask()
    results = [
        Message(role="tool", call_id=call.id, name=call.name, text=text, failed=failed)
        for call, text, failed in zip(
            first.calls, ['{"iso": "12:00"}', "no such file"], [False, True], strict=True
        )
    ]
    history = [*QUESTION, first.message(), *results]
    second = await harness.ask(messages=history)
    assert (second.text, second.stop) == ("Noon.", "end")
    third = await harness.ask(
        messages=[*history, second.message(), Message(role="user", text="Thanks")], tools=()
    )
    assert third.text == "Bye."
    sent = json.dumps(harness.server.bodies[-1])
    assert "no such file" in sent
    assert "12:00" in sent


async def test_unusual_histories_are_accepted(harness):
    """Empty turns, invalid arguments, lone surrogates, tools that no longer exist."""
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
    assert (await harness.ask(messages=messages)).text == "ok"
    assert (await harness.ask(messages=messages, tools=())).text == "ok"
    assert "gone__away" in json.dumps(harness.server.bodies[-1])


async def test_truncated_call_is_omitted(harness):
    """A model that reaches its output limit may stop in the middle of the arguments."""
    harness.server.responses = [
        TextTurn(text=["x"], calls=[CallTurn("time__now", ['{"a": '], id="c1")], stop="length")
    ]
    response = await harness.ask()
    assert (response.calls, response.stop) == ((), "length")


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
async def test_statuses_map_to_kinds(harness, status, kind, attempts):
    """Transient failures are retried once."""
    harness.server.responses = [
        Status(status, {"Location": "http://127.0.0.1:1/"}, message=f"sorry about {KEY}")
    ]
    error = await harness.fail()
    assert (error.kind, len(harness.server.requests)) == (kind, attempts)
    assert str(status) in str(error)
    assert harness.waits == [0.5] * (attempts - 1)


async def test_retry_after_is_respected(harness, caplog):
    """Up to 20 seconds. The retry is logged."""
    caplog.set_level(logging.INFO, "onetool.chat_models")
    harness.server.responses = [Status(429, {"Retry-After": "7"}), TextTurn(text=["here"])]
    assert (await harness.ask()).text == "here"
    assert harness.waits == [7.0]
    (record,) = [record for record in caplog.records if record.name.startswith("onetool")]
    assert (record.provider, record.kind, record.wait_s) == (harness.chat.name, "rate_limited", 7.0)


@pytest.mark.parametrize("wait", ["21", "15"])
async def test_long_retry_after_fails_immediately(harness, wait):
    """Over 20 seconds, or past the deadline. The error has the requested delay."""
    harness.server.responses = [Status(429, {"Retry-After": wait}, message="slow down")]
    error = await harness.fail(seconds=14)
    assert (error.kind, error.retry_after, harness.waits) == ("rate_limited", float(wait), [])
    assert "slow down" in str(error)


async def test_connection_closed_before_the_response_is_retried_once(harness):
    harness.server.responses = [Fault("cut"), TextTurn(text=["here"])]
    assert (await harness.ask()).text == "here"
    harness.server.responses = [Fault("cut")]
    harness.server.requests.clear()
    assert (await harness.fail()).kind == "unreachable"
    assert len(harness.server.requests) == 2


async def test_refused_connection_is_unreachable(harness):
    await harness.server.__aexit__()
    error = await harness.fail()
    assert error.kind == "unreachable"
    assert harness.server.base_url in str(error)


@pytest.mark.parametrize("then", ["cut", "end"])
async def test_interrupted_response_is_not_retried(harness, then):
    """Its text was already passed on and must not be repeated."""
    frames = harness.server.frames(TextTurn(text=["half a "]))
    harness.server.responses = [Fault(then, frames=frames[: harness.server.partial_frames])]
    error = await harness.fail()
    assert (error.kind, len(harness.server.requests)) == ("unreachable", 1)


async def test_invalid_data_in_the_stream_is_malformed(harness):
    start = harness.server.frames(TextTurn(text=["a"]))[:1]
    for content in (b"{nonsense", b"\xff\xfe"):
        harness.server.responses = [Fault("", frames=[*start, harness.server.frame(content)])]
        assert (await harness.fail()).kind == "malformed", content


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
async def test_unexpected_json_raises_a_chat_model_error(harness, shape):
    harness.server.responses = [Fault("", frames=[harness.server.frame(shape.encode())])]
    assert (await harness.fail()).kind in ("malformed", "unreachable", "rejected")


@pytest.mark.parametrize("has_begun", [False, True])
async def test_deadline_closes_the_connection(harness, has_begun):
    """Before the response and in the middle of it."""
    frames = harness.server.frames(TextTurn(text=["a", "b"]))
    count = harness.server.partial_frames if has_begun else 0
    harness.server.responses = [Fault("hang", frames=frames[:count])]
    asking = asyncio.create_task(harness.fail(seconds=3600))
    await until(lambda: harness.received if has_begun else harness.server.requests)
    advance_running_loop(3600)
    assert (await asyncio.wait_for(asking, HANG_S)).kind == "timeout"
    await until(harness.server.disconnected.is_set)


async def test_cancelling_closes_the_connection(harness):
    frames = harness.server.frames(TextTurn(text=["a", "b"]))
    harness.server.responses = [Fault("hang", frames=frames[: harness.server.partial_frames])]
    task = asyncio.create_task(harness.ask(seconds=3600))
    await until(lambda: harness.received)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(harness.server.disconnected.is_set)


@pytest.mark.parametrize("kind", [ValueError, TimeoutError, AttributeError])
async def test_exception_of_the_listener_propagates(harness, kind):
    """It is not mistaken for an error of the provider."""
    harness.server.responses = [TextTurn(text=["a", "b"])]

    def listen(text):
        raise kind(text)

    deadline = asyncio.get_running_loop().time() + 20
    with pytest.raises(kind, match=r"^a$"):
        await harness.chat.reply(QUESTION, TOOLS, on_text=listen, deadline=deadline)


ENVIRONMENT = {
    "OPENAI_BASE_URL": "http://127.0.0.1:1/v1",
    "OPENAI_API_KEY": "sk-other",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
    "ANTHROPIC_AUTH_TOKEN": "other",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_CLOUD_PROJECT": "p",
    "GOOGLE_CLOUD_LOCATION": "l",
    "GOOGLE_API_KEY": "other",
    "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1",
    "GOOGLE_GENAI_API_VERSION": "v9",
}


async def test_environment_is_ignored(harness, monkeypatch):
    """The base URL and the key come only from the settings."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    assert (await harness.ask()).text == "ok"
    assert KEY in json.dumps(harness.server.requests[0].headers)


async def test_replies_may_be_requested_at_the_same_time(harness):
    replies = await asyncio.gather(*(harness.ask() for _ in range(5)))
    assert {response.text for response in replies} == {"ok"}


async def test_key_appears_only_in_the_request(harness, caplog):
    """Not in errors and their context, in logs of any level or in reprs."""
    caplog.set_level(logging.DEBUG)
    for response in (
        Status(401, message=f"wrong key {KEY}"),
        Status(400, message=f"what is {KEY}?"),
        Status(500, message=f"{KEY}"),
        Fault("cut"),
        Fault("", frames=[harness.server.frame(b"{" + KEY.encode())]),
    ):
        harness.server.responses, harness.received[:] = [response], []
        error = await harness.fail()
        output = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
        assert KEY not in output
        assert error.__cause__ is None
    assert KEY not in repr(harness.chat) + repr(harness.chat._endpoint) + caplog.text
    assert KEY in json.dumps(harness.server.requests[0].headers)
