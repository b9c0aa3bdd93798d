"""Behavior specific to the OpenAI API and compatible servers."""

import asyncio
import json
import sys

import pytest

from chat_models.harness import ADAPTERS, QUESTION, TOOLS, make_harness
from chat_models.openai_server import OpenAIServer
from chat_models.provider_server import KEY, Fault, TextTurn, sse
from onetool.chat_models.endpoint import Endpoint
from onetool.chat_models.openai import PUBLIC_URL, OpenAIChat
from onetool.domain.chat.messages import ChatModelError, ModelResponse, TokenCount, ToolDefinition
from onetool.domain.errors import SettingsError
from onetool.files.installation import extra_command
from onetool.testing import HttpStub, ScriptedLLM, StubResponse, calls, text
from onetool.threads import Threads


@pytest.fixture
async def harness():
    async with OpenAIServer() as server:
        harness = make_harness("openai", server)
        yield harness
        await harness.chat.aclose()


def stream(*deltas, reason="stop"):
    """Return the stream of a server that sends only the required fields."""
    chunks = [sse({"choices": [{"delta": delta}]}) for delta in deltas]
    return Fault(
        "", frames=[*chunks, sse({"choices": [{"delta": {}, "finish_reason": reason}]}), sse("[DONE]")]
    )


def call(name="time__now", arguments="{}", **fields):
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}, **fields}]}


async def test_refusal_is_text_with_a_stop_reason(harness):
    harness.server.responses = [stream({"refusal": "I can"}, {"refusal": "not."}, call(id="a"))]
    assert await harness.ask() == ModelResponse(text="I cannot.", stop="refused")


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call", "brand_new"])
async def test_calls_count_with_any_finish_reason(harness, reason):
    """Compatible servers report `stop` with calls."""
    harness.server.responses = [stream(call(id="a", index=0), reason=reason)]
    reply = await harness.ask()
    assert (reply.stop, [call.name for call in reply.calls]) == ("calls", ["time.now"])


async def test_finish_reason_tool_calls_without_calls_is_an_end(harness):
    harness.server.responses = [TextTurn(text=["x"], stop="calls")]
    assert (await harness.ask()).stop == "end"


async def test_calls_with_shared_or_missing_index(harness):
    """A different id starts a new call. Duplicate and missing ids are replaced."""
    harness.server.responses = [
        stream(call(id="a", index=0), call(id="b", index=0), call("fs__read_file", '{"path":', id="c")),
        stream(call(id="a", index=0), call(id="a", index=1), call(id="", index=2)),
    ]
    first, second = await harness.ask(), await harness.ask()
    assert [call.id for call in first.calls] == ["a", "b", "c"]
    assert [call.id for call in second.calls] == ["a", "new_id_0", "new_id_1"]
    assert first.calls[2].arguments_text == '{"path":'


async def test_call_without_a_name_is_malformed(harness):
    harness.server.responses = [stream(call(name="", id="a"))]
    assert (await harness.fail()).kind == "malformed"


async def test_error_in_the_stream(harness):
    """The error has the provider's message and a kind."""
    for kind, expected in {"server_error": "unreachable", "invalid_request_error": "rejected"}.items():
        body = {"error": {"message": f"went wrong with {KEY}", "type": kind, "param": None, "code": None}}
        harness.server.responses = [Fault("", frames=[sse(body)])]
        error = await harness.fail()
        assert (error.kind, str(error)) == (
            expected,
            "openai interrupted its response: went wrong with [secret]",
        )


async def test_response_length_is_limited(harness, monkeypatch):
    monkeypatch.setattr("onetool.chat_models.response_builder.MAX_LENGTH", 100)
    harness.server.responses = [stream(*({"content": "x" * 60} for _ in range(3)))]
    assert (await harness.fail()).kind == "malformed"


async def test_html_page_is_malformed(harness):
    """The message says to check the base URL."""
    harness.server.content_type = "text/html"
    harness.server.responses = [Fault("", frames=[b"<html>\n\nWelcome</html>"])]
    error = await harness.fail()
    assert error.kind == "malformed"
    assert f"Check that base_url '{harness.server.base_url}' is its API" in str(error)


async def test_duplicate_tool_is_sent_once(harness):
    """Providers reject duplicate names."""
    await harness.ask(tools=[*TOOLS, *TOOLS])
    assert len(harness.server.bodies[0]["tools"]) == len(TOOLS)


async def converse(base_url, *tool_lists):
    """Return one reply for each list of tools, from a server that requires no key."""
    chat = OpenAIChat(Endpoint(name="mine", model="m", base_url=base_url), Threads(), lambda: "new_id")
    deadline, received = asyncio.get_running_loop().time() + 20, []
    replies = [
        await chat.reply(QUESTION, tools, on_text=received.append, deadline=deadline) for tools in tool_lists
    ]
    await chat.aclose()
    return replies, received


async def test_scripted_llm_is_compatible():
    """Without a key, a placeholder is sent."""
    with ScriptedLLM([calls(("time__now", {"a": 1})), text("It is noon.")]) as server:
        (first, second), received = await converse(server.base_url, TOOLS, ())
    assert (first.calls[0].name, first.calls[0].arguments_text) == ("time.now", '{"a": 1}')
    assert (first.tokens, second.text, "".join(received)) == (
        TokenCount(input=0, output=0),
        "It is noon.",
        "It is noon.",
    )
    assert "tools" not in server.bodies[1]
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert sent["authorization"] == "Bearer none"


async def test_server_that_does_not_stream():
    message = {"role": "assistant", "content": "Noon."}
    body = {"object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"}]}
    with HttpStub({"/v1/chat/completions": StubResponse(body)}) as server:
        (reply,), received = await converse(f"{server.url}/v1", TOOLS)
    assert (reply, received) == (ModelResponse(text="Noon."), ["Noon."])


@pytest.mark.parametrize("schema", [{}, {"anyOf": [{"required": ["a"]}]}, {"enum": [{}]}])
async def test_top_level_combinators_are_removed(harness, schema):
    """Otherwise the provider rejects the whole request. The rest of the schema is unchanged."""
    definition = ToolDefinition(
        name="demo.tool", description="Demo.", schema={"additionalProperties": False, **schema}
    )
    await harness.ask(tools=[definition])
    (tool,) = harness.server.bodies[0]["tools"]
    assert tool["function"]["parameters"] == {
        "properties": {},
        "additionalProperties": False,
        "type": "object",
    }


@pytest.mark.parametrize("kind", ["anthropic", "gemini", "openai"])
async def test_public_api_without_a_key_fails_immediately(kind):
    """No request is sent."""
    module = sys.modules[ADAPTERS[kind].__module__]
    chat = ADAPTERS[kind](Endpoint(name=kind, model="m", base_url=module.PUBLIC_URL), Threads(), str)
    with pytest.raises(ChatModelError, match=f"There is no key for '{kind}'") as caught:
        await chat.reply(QUESTION, (), on_text=print, deadline=asyncio.get_running_loop().time() + 20)
    assert caught.value.kind == "auth"
    await chat.aclose()


@pytest.mark.parametrize(
    ("kind", "package"), [("openai", "openai"), ("gemini", "google.genai"), ("anthropic", "anthropic")]
)
async def test_missing_package_error_names_the_install_command(kind, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    chat = ADAPTERS[kind](Endpoint(name=kind, model="m", base_url=PUBLIC_URL, key="k"), Threads(), str)
    with pytest.raises(SettingsError) as caught:
        await chat.reply(QUESTION, (), on_text=print, deadline=asyncio.get_running_loop().time() + 20)
    assert str(caught.value) == (f"The package {package!r} is not installed. Run: {extra_command(kind)}")


async def test_request_body(harness):
    await harness.ask(tools=TOOLS[:1])
    assert harness.server.bodies == [
        {
            "model": "test-model",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "What time is it? 你好"},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "time__now",
                        "description": "The time.",
                        "parameters": {"type": "object", "properties": {}},
                    },
                }
            ],
        }
    ]
    assert json.loads(json.dumps(harness.server.bodies[0])) == harness.server.bodies[0]
