"""What only Ollama's own chat does."""

import pytest

from chat_models.harness import OFFERS, QUESTION, make_talk
from chat_models.loopback import Called, Said, Status, Trouble
from chat_models.ollama_server import OllamaServer, line
from onetool.domain.chat import Message
from onetool.domain.provider_formats import to_provider
from onetool.domain.tool import ToolSpec


@pytest.fixture
async def talk():
    async with OllamaServer() as server:
        talk = make_talk("ollama", server)
        yield talk
        await talk.chat.aclose()


@pytest.mark.spec("REG-20")
async def test_tools_are_sent_as_converted(talk):
    """Its chat takes the tools exactly as the converter writes them."""
    await talk.ask()
    specs = [
        ToolSpec(name=offer.name, description=offer.description, input_schema=offer.schema)
        for offer in OFFERS
    ]
    assert talk.server.bodies[0]["tools"] == to_provider("ollama", specs)


async def test_calls_without_ids_get_some(talk):
    """Older servers give none; results go back under the names of their tools."""
    talk.server.answers = [Said(calls=[Called("time__now"), Called("fs__read_file")], stop="calls"), Said()]
    first = await talk.ask()
    assert [call.id for call in first.calls] == ["made_0", "made_1"]
    results = [Message(role="tool", call_id=call.id, name=call.name, text="x") for call in first.calls]
    await talk.ask(messages=[*QUESTION, first.message(), *results])
    sent = talk.server.bodies[1]["messages"]
    assert [message["tool_name"] for message in sent[-2:]] == ["time__now", "fs__read_file"]


async def test_arguments_may_come_as_text(talk):
    """Some models' templates leave them unread."""
    asked = [{"function": {"name": "time__now", "arguments": '{"a": '}}]
    end = line(message={"role": "assistant", "content": ""}, done=True, done_reason="stop")
    talk.server.answers = [Trouble("", frames=[line(message={"tool_calls": asked}), end])]
    assert (await talk.ask()).calls[0].arguments_text == '{"a":'


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (404, "model 'test-model' not found", "ollama pull test-model"),
        (400, "registry.ollama.ai/library/x:latest does not support tools", "from 0.3.0 on"),
    ],
)
async def test_failures_say_what_to_do(talk, status, said, hint):
    """What it says itself, and the way out."""
    talk.server.answers = [Status(status, said=said)]
    failed = await talk.fail()
    assert failed.kind == "rejected"
    assert said in str(failed)
    assert hint in str(failed)


async def test_an_error_in_the_middle(talk):
    """The runner may die while the model speaks."""
    talk.server.answers = [Trouble("", frames=[line(message={"content": "x"}), b'{"error":"runner died"}\n'])]
    failed = await talk.fail()
    assert (failed.kind, "runner died" in str(failed)) == ("unreachable", True)


async def test_an_error_that_is_no_json(talk):
    """A proxy in front of it may answer in its own way, and at any length."""
    talk.server.error_content = b"<html>bad gateway" + b"x" * 200_000
    talk.server.answers = [Status(502)]
    failed = await talk.fail()
    assert (failed.kind, "bad gateway" in str(failed), len(str(failed)) < 700) == ("unreachable", True, True)


async def test_a_line_without_an_end(talk, monkeypatch):
    """Memory has a limit."""
    monkeypatch.setattr("onetool.chat_models.ollama.LONGEST_LINE", 1000)
    talk.server.answers = [Trouble("", frames=[b'{"x": "' + b"x" * 600, b"x" * 600])]
    assert (await talk.fail()).kind == "rubbish"


async def test_the_last_line_may_lack_its_end(talk):
    """And blank lines say nothing."""
    end = line(message={"role": "assistant", "content": "x"}, done=True, done_reason="stop")
    talk.server.answers = [Trouble("", frames=[b"\n \n", end.rstrip()])]
    assert (await talk.ask()).text == "x"


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/api"])
async def test_addresses_as_people_write_them(path):
    """The address of its imitation of OpenAI leads here too; without a key none is sent."""
    async with OllamaServer() as server:
        server.is_key = lambda request: "authorization" not in request.headers
        talk = make_talk("ollama", server, base_url=server.url + path, key="")
        assert (await talk.ask()).text == "ok"
        await talk.chat.aclose()
