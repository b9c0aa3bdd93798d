"""Behavior specific to the Anthropic API."""

import pytest

from chat_models.anthropic_server import AnthropicServer, block, event
from chat_models.harness import QUESTION, make_harness
from chat_models.provider_server import KEY, CallTurn, Fault, TextTurn
from onetool.domain.chat.messages import Message, TokenCount, ToolCallRequest


@pytest.fixture
async def harness():
    async with AnthropicServer() as server:
        harness = make_harness("anthropic", server)
        yield harness
        await harness.chat.aclose()


def result(call, **fields):
    return Message(role="tool", call_id=call.id, name=call.name, text="noon", **fields)


async def test_thinking_blocks_are_sent_back_with_the_call(harness):
    """They are not shown, but the API rejects calls without them."""
    deltas = [{"type": "thinking_delta", "thinking": part} for part in ("Hm", ".")]
    deltas.append({"type": "signature_delta", "signature": "s=="})
    frames = harness.server.frames(TextTurn(calls=[CallTurn("time__now", id="c1")], stop="calls"))
    thinking = [
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, deltas),
        *block(1, {"type": "redacted_thinking", "data": "x"}, []),
    ]
    harness.server.responses = [
        Fault("", frames=[*frames[:2], *thinking, *frames[2:]]),
        TextTurn(text=["Noon."]),
    ]
    first = await harness.ask()
    assert (first.text, harness.received) == ("", [])
    await harness.ask(messages=[*QUESTION, first.message(), result(first.calls[0])])
    assert harness.server.bodies[1]["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "Hm.", "signature": "s=="},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "tool_use", "id": "c1", "name": "time__now", "input": {}},
    ]


async def test_signature_of_another_provider_is_ignored(harness):
    """A conversation may continue with another model."""
    call = ToolCallRequest(id="c1", name="time.now", signature="gemini:AAAA")
    await harness.ask(
        messages=[*QUESTION, Message(role="assistant", calls=(call,)), result(call, failed=True)]
    )
    sent = harness.server.bodies[0]["messages"]
    assert [part["type"] for part in sent[1]["content"]] == ["tool_use"]
    assert sent[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "noon", "is_error": True}
    ]


async def test_last_turn_without_tools(harness):
    """The tools of earlier calls are defined, and calling them is forbidden."""
    call = ToolCallRequest(id="c1", name="time.now")
    await harness.ask(messages=[*QUESTION, Message(role="assistant", calls=(call,)), result(call)], tools=())
    body = harness.server.bodies[0]
    assert ([tool["name"] for tool in body["tools"]], body["tool_choice"]) == (
        ["time__now"],
        {"type": "none"},
    )
    await harness.ask(messages=QUESTION[1:], tools=())
    assert not {"tools", "tool_choice", "system"} & set(harness.server.bodies[1])


async def test_cached_tokens_count_as_input(harness):
    frames = harness.server.frames(TextTurn(text=["x"]))
    usage = {
        "input_tokens": 5,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 7,
        "output_tokens": 2,
    }
    delta = event("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage=usage)
    harness.server.responses = [Fault("", frames=[*frames[:-2], delta, frames[-1]])]
    assert (await harness.ask()).tokens == TokenCount(input=42, output=2)


@pytest.mark.parametrize(
    ("error", "kind"),
    [("overloaded_error", "unreachable"), ("rate_limit_error", "rate_limited"), ("api_error", "unreachable")],
)
async def test_error_in_the_stream(harness, error, kind):
    frames = harness.server.frames(TextTurn(text=["x"]))
    body = event("error", error={"type": error, "message": f"Overloaded {KEY}"})
    harness.server.responses = [Fault("", frames=[*frames[:2], body])]
    raised = await harness.fail()
    assert (raised.kind, str(raised)) == (kind, "anthropic interrupted its response: Overloaded [secret]")
    assert len(harness.server.requests) == 1


async def test_unknown_events_are_ignored(harness):
    """The API may add events and blocks at any time."""
    frames = harness.server.frames(TextTurn(text=["x"]))
    unknown = [
        event("brand_new", field=1),
        *block(
            7, {"type": "new_block"}, [{"type": "new_delta"}, {"type": "signature_delta", "signature": "s"}]
        ),
        event("message_delta", delta={}, usage={}),
    ]
    harness.server.responses = [Fault("", frames=[*frames[:2], *unknown, *frames[2:]])]
    assert (await harness.ask()).text == "x"


async def test_call_delta_without_an_index_is_malformed(harness):
    frames = harness.server.frames(TextTurn(text=["x"]))
    delta = event("content_block_delta", delta={"type": "input_json_delta", "partial_json": "{}"})
    harness.server.responses = [Fault("", frames=[*frames[:2], delta, *frames[2:]])]
    assert (await harness.fail()).kind == "malformed"
