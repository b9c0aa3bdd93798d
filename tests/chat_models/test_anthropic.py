"""What only Anthropic's API does."""

import pytest

from chat_models.anthropic_server import AnthropicServer, block, event
from chat_models.harness import QUESTION, make_talk
from chat_models.loopback import KEY, Called, Said, Trouble
from onetool.domain.chat import Message, TokenCount, ToolCallRequest


@pytest.fixture
async def talk():
    async with AnthropicServer() as server:
        talk = make_talk("anthropic", server)
        yield talk
        await talk.chat.aclose()


def result(call, **more):
    return Message(role="tool", call_id=call.id, name=call.name, text="noon", **more)


async def test_thoughts_go_back_with_the_call(talk):
    """They are not shown to anybody, but a model that thinks refuses calls without them."""
    deltas = [{"type": "thinking_delta", "thinking": part} for part in ("Hm", ".")]
    deltas.append({"type": "signature_delta", "signature": "s=="})
    frames = talk.server.frames(Said(calls=[Called("time__now", id="c1")], stop="calls"))
    thoughts = [
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, deltas),
        *block(1, {"type": "redacted_thinking", "data": "x"}, []),
    ]
    talk.server.answers = [Trouble("", frames=[*frames[:2], *thoughts, *frames[2:]]), Said(text=["Noon."])]
    first = await talk.ask()
    assert (first.text, talk.heard) == ("", [])
    await talk.ask(messages=[*QUESTION, first.message(), result(first.calls[0])])
    assert talk.server.bodies[1]["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "s=="},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "tool_use", "id": "c1", "name": "time__now", "input": {}},
    ]


async def test_the_seal_of_another_provider_stays_closed(talk):
    """A conversation may go on with another model."""
    call = ToolCallRequest(id="c1", name="time.now", seal="gemini:AAAA")
    await talk.ask(messages=[*QUESTION, Message(role="assistant", calls=(call,)), result(call, failed=True)])
    sent = talk.server.bodies[0]["messages"]
    assert [part["type"] for part in sent[1]["content"]] == ["tool_use"]
    assert sent[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "noon", "is_error": True}
    ]


async def test_a_last_turn_without_tools(talk):
    """Earlier calls must have their tools told of, and none may be called."""
    call = ToolCallRequest(id="c1", name="time.now")
    await talk.ask(messages=[*QUESTION, Message(role="assistant", calls=(call,)), result(call)], offers=())
    body = talk.server.bodies[0]
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (
        ["time__now"],
        {"type": "none"},
    )
    await talk.ask(messages=QUESTION[1:], offers=())
    assert not {"tools", "tool_choice", "system"} & set(talk.server.bodies[1])


async def test_what_was_read_from_the_cache_counts(talk):
    """Input is everything that was read."""
    frames = talk.server.frames(Said(text=["x"]))
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 7,
        "output_tokens": 2,
    }
    delta = event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=usage)
    talk.server.answers = [Trouble("", frames=[*frames[:-2], delta, frames[-1]])]
    assert (await talk.ask()).tokens == TokenCount(input=42, output=2)


@pytest.mark.parametrize(
    ("error", "kind"),
    [("overloaded_error", "unreachable"), ("rate_limit_error", "rate_limited"), ("api_error", "unreachable")],
)
async def test_an_error_in_the_middle(talk, error, kind):
    """It comes as an event after the answer was begun."""
    frames = talk.server.frames(Said(text=["x"]))
    body = event("error", error={"type": error, "message": f"Overloaded {KEY}"})
    talk.server.answers = [Trouble("", frames=[*frames[:2], body])]
    failed = await talk.fail()
    assert (failed.kind, str(failed)) == (kind, "anthropic broke off its answer: Overloaded [secret]")
    assert len(talk.server.requests) == 1


async def test_events_that_nobody_knows_are_passed_over(talk):
    """New kinds of events and blocks may come at any time."""
    frames = talk.server.frames(Said(text=["x"]))
    odd = [
        event("brand_new", more=1),
        *block(
            7, {"type": "new_block"}, [{"type": "new_delta"}, {"type": "signature_delta", "signature": "s"}]
        ),
        event("message_delta", delta={}, usage={}),
    ]
    talk.server.answers = [Trouble("", frames=[*frames[:2], *odd, *frames[2:]])]
    assert (await talk.ask()).text == "x"


async def test_the_environment_does_not_move_the_key(talk, monkeypatch):
    """Addresses and keys come from the operator's settings alone."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "other")
    assert (await talk.ask()).text == "ok"


async def test_pieces_of_a_call_without_an_index(talk):
    """What belongs to nothing makes no call."""
    frames = talk.server.frames(Said(text=["x"]))
    delta = event("content_block_delta", delta={"type": "input_json_delta", "partial_json": "{}"})
    talk.server.answers = [Trouble("", frames=[*frames[:2], delta, *frames[2:]])]
    assert (await talk.fail()).kind == "rubbish"
