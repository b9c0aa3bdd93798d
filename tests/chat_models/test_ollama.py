"""Behavior specific to the native Ollama API."""

import asyncio

import httpx2
import pytest

from chat_models.harness import QUESTION, TOOLS, make_harness
from chat_models.ollama_server import OllamaServer, line
from chat_models.provider_server import CallTurn, Fault, Status, TextTurn
from onetool.chat_models import ollama
from onetool.domain.chat.messages import Message
from onetool.domain.tools.provider_formats import to_provider
from onetool.domain.tools.tool import ToolSpec
from support.waiting import HANG_S


@pytest.fixture
async def harness():
    async with OllamaServer() as server:
        harness = make_harness("ollama", server)
        yield harness
        await harness.chat.aclose()


@pytest.mark.spec("REG-20")
async def test_tools_are_sent_as_converted(harness):
    """The tools are sent exactly as the converter returns them."""
    await harness.ask()
    specs = [
        ToolSpec(name=tool.name, description=tool.description, input_schema=tool.schema) for tool in TOOLS
    ]
    assert harness.server.bodies[0]["tools"] == to_provider("ollama", specs)


async def test_calls_without_ids_get_new_ones(harness):
    """Older servers send no ids. Results are sent back with the names of their tools."""
    harness.server.responses = [
        TextTurn(calls=[CallTurn("time__now"), CallTurn("fs__read_file")], stop="calls"),
        TextTurn(),
    ]
    first = await harness.ask()
    assert [call.id for call in first.calls] == ["new_id_0", "new_id_1"]
    results = [Message(role="tool", call_id=call.id, name=call.name, text="x") for call in first.calls]
    await harness.ask(messages=[*QUESTION, first.message(), *results])
    sent = harness.server.bodies[1]["messages"]
    assert [message["tool_name"] for message in sent[-2:]] == ["time__now", "fs__read_file"]


async def test_arguments_may_be_text(harness):
    """The templates of some models do not parse them."""
    tool_calls = [{"function": {"name": "time__now", "arguments": '{"a": '}}]
    end = line(message={"role": "assistant", "content": ""}, done=True, done_reason="stop")
    harness.server.responses = [Fault("", frames=[line(message={"tool_calls": tool_calls}), end])]
    assert (await harness.ask()).calls[0].arguments_text == '{"a":'


@pytest.mark.parametrize(
    ("status", "message", "hint"),
    [
        (404, "model 'test-model' not found", "ollama pull test-model"),
        (400, "registry.ollama.ai/library/x:latest does not support tools", "0.3.0 or later"),
    ],
)
async def test_errors_have_hints(harness, status, message, hint):
    """After the server's own message."""
    harness.server.responses = [Status(status, message=message)]
    error = await harness.fail()
    assert error.kind == "rejected"
    assert message in str(error)
    assert hint in str(error)


async def test_error_in_the_stream(harness):
    """The runner may die while the model is responding."""
    harness.server.responses = [
        Fault("", frames=[line(message={"content": "x"}), b'{"error":"runner died"}\n'])
    ]
    error = await harness.fail()
    assert (error.kind, "runner died" in str(error)) == ("unreachable", True)


async def test_error_that_is_not_json(harness):
    """A proxy may respond with anything of any length."""
    harness.server.error_content = b"<html>bad gateway" + b"x" * 200_000
    harness.server.responses = [Status(502)]
    error = await harness.fail()
    assert (error.kind, "bad gateway" in str(error), len(str(error)) < 700) == ("unreachable", True, True)


async def test_line_length_is_limited(harness, monkeypatch):
    monkeypatch.setattr("onetool.chat_models.ollama.MAX_LINE_LENGTH", 1000)
    harness.server.responses = [Fault("", frames=[b'{"x": "' + b"x" * 600, b"x" * 600])]
    assert (await harness.fail()).kind == "malformed"


async def test_last_line_end_may_be_missing(harness):
    """Blank lines are ignored."""
    end = line(message={"role": "assistant", "content": "x"}, done=True, done_reason="stop")
    harness.server.responses = [Fault("", frames=[b"\n \n", end.rstrip()])]
    assert (await harness.ask()).text == "x"


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/api"])
async def test_base_url_variants(path):
    """The URL of the OpenAI-compatible API works too. Without a key none is sent."""
    async with OllamaServer() as server:
        server.is_authorized = lambda request: "authorization" not in request.headers
        harness = make_harness("ollama", server, base_url=server.url + path, key="")
        assert (await harness.ask()).text == "ok"
        await harness.chat.aclose()


async def test_error_without_end_is_not_read_to_its_end(harness):
    """A server that never stops sending an error does not keep the request open."""

    class Endless(httpx2.AsyncByteStream):
        async def __aiter__(self):
            while True:
                await asyncio.sleep(0)
                yield b"x" * 10_000

    response = httpx2.Response(400, stream=Endless())
    error = await asyncio.wait_for(ollama._rejected(harness.chat._endpoint, response), HANG_S)
    assert error.kind == "rejected"
