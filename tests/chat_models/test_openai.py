"""What only OpenAI's API and its many imitations do."""

import asyncio
import json
import sys

import pytest

from chat_models.harness import ADAPTERS, OFFERS, QUESTION, make_talk
from chat_models.loopback import KEY, Said, Trouble, sse
from chat_models.openai_server import OpenAIServer
from onetool.chat_models.endpoint import Endpoint
from onetool.chat_models.openai import PUBLIC, OpenAIChat
from onetool.domain.chat import ChatFailed, Offer, Reply, TokenCount
from onetool.domain.errors import SettingsError
from onetool.testing import HttpStub, ScriptedLLM, calls, text
from onetool.testing import Reply as Answered
from onetool.threads import Threads


@pytest.fixture
async def talk():
    async with OpenAIServer() as server:
        talk = make_talk("openai", server)
        yield talk
        await talk.chat.aclose()


def stream(*deltas, reason="stop"):
    """Pieces of a server that writes no more than it must."""
    pieces = [sse({"choices": [{"delta": delta}]}) for delta in deltas]
    return Trouble(
        "", frames=[*pieces, sse({"choices": [{"delta": {}, "finish_reason": reason}]}), sse("[DONE]")]
    )


def call(name="time__now", arguments="{}", **more):
    return {"tool_calls": [{"function": {"name": name, "arguments": arguments}, **more}]}


async def test_a_refusal_in_words(talk):
    """It is text for the person, and the stop says what it was."""
    talk.server.answers = [stream({"refusal": "I can"}, {"refusal": "not."}, call(id="a"))]
    assert await talk.ask() == Reply(text="I cannot.", stop="refused")


@pytest.mark.parametrize("reason", ["stop", "tool_calls", "function_call", "brand_new"])
async def test_calls_count_whatever_the_reason(talk, reason):
    """Imitations say `stop` and call nevertheless."""
    talk.server.answers = [stream(call(id="a", index=0), reason=reason)]
    reply = await talk.ask()
    assert (reply.stop, [one.name for one in reply.calls]) == ("calls", ["time.now"])


async def test_a_reason_without_calls_is_an_end(talk):
    """Nothing was called: there is nothing to wait for."""
    talk.server.answers = [Said(text=["x"], stop="calls")]
    assert (await talk.ask()).stop == "end"


async def test_calls_that_share_an_index_or_have_none(talk):
    """Another id is another call; an id that comes twice, or not at all, is replaced."""
    talk.server.answers = [
        stream(call(id="a", index=0), call(id="b", index=0), call("fs__read_file", '{"path":', id="c")),
        stream(call(id="a", index=0), call(id="a", index=1), call(id="", index=2)),
    ]
    first, second = await talk.ask(), await talk.ask()
    assert [one.id for one in first.calls] == ["a", "b", "c"]
    assert [one.id for one in second.calls] == ["a", "made_0", "made_1"]
    assert first.calls[2].arguments_text == '{"path":'


async def test_a_call_without_a_name(talk):
    """Nobody can run it."""
    talk.server.answers = [stream(call(name="", id="a"))]
    assert (await talk.fail()).kind == "rubbish"


async def test_an_error_in_the_middle(talk):
    """The words of the provider, and whose fault it was."""
    for kind, expected in {"server_error": "unreachable", "invalid_request_error": "rejected"}.items():
        error = {"error": {"message": f"went wrong with {KEY}", "type": kind, "param": None, "code": None}}
        talk.server.answers = [Trouble("", frames=[sse(error)])]
        failed = await talk.fail()
        assert (failed.kind, str(failed)) == (
            expected,
            "openai broke off its answer: went wrong with [secret]",
        )


async def test_an_answer_without_an_end_has_an_end(talk, monkeypatch):
    """A server that never stops talking is stopped."""
    monkeypatch.setattr("onetool.chat_models.answer.LONGEST", 100)
    talk.server.answers = [stream(*({"content": "x" * 60} for _ in range(3)))]
    assert (await talk.fail()).kind == "rubbish"


async def test_a_page_instead_of_an_answer(talk):
    """The address of a web site answers too: said as it is, with what to check."""
    talk.server.content_type = "text/html"
    talk.server.answers = [Trouble("", frames=[b"<html>\n\nWelcome</html>"])]
    failed = await talk.fail()
    assert failed.kind == "rubbish"
    assert f"Check that base_url '{talk.server.base_url}' is its API" in str(failed)


async def test_the_same_tool_twice_is_offered_once(talk):
    """Providers refuse a list with a name that stands there twice."""
    await talk.ask(offers=[*OFFERS, *OFFERS])
    assert len(talk.server.bodies[0]["tools"]) == len(OFFERS)


async def converse(base_url, *offered):
    """One reply for each list of offers, from a server that wants no key."""
    chat = OpenAIChat(Endpoint(name="mine", model="m", base_url=base_url), Threads(), lambda: "made")
    deadline, heard = asyncio.get_running_loop().time() + 20, []
    replies = [
        await chat.reply(QUESTION, offers, on_text=heard.append, deadline=deadline) for offers in offered
    ]
    await chat.aclose()
    return replies, heard


async def test_the_fake_that_we_ship():
    """A model that says what it is told to is understood; where no key was given none is made up."""
    with ScriptedLLM([calls(("time__now", {"a": 1})), text("It is noon.")]) as server:
        (first, second), heard = await converse(server.base_url, OFFERS, ())
    assert (first.calls[0].name, first.calls[0].arguments_text) == ("time.now", '{"a": 1}')
    assert (first.tokens, second.text, "".join(heard)) == (
        TokenCount(input=0, output=0),
        "It is noon.",
        "It is noon.",
    )
    assert "tools" not in server.asked[1]
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert sent["authorization"] == "Bearer none"


async def test_a_server_that_does_not_stream():
    """It answers in one piece though it was asked for many, and is understood."""
    message = {"role": "assistant", "content": "Noon."}
    whole = {"object": "chat.completion", "choices": [{"message": message, "finish_reason": "stop"}]}
    with HttpStub({"/v1/chat/completions": Answered(whole)}) as server:
        (reply,), heard = await converse(f"{server.url}/v1", OFFERS)
    assert (reply, heard) == (Reply(text="Noon."), ["Noon."])


@pytest.mark.parametrize("schema", [{}, {"anyOf": [{"required": ["a"]}]}, {"enum": [{}]}])
async def test_a_schema_that_chooses_at_the_top(talk, schema):
    """One such tool must not have the whole request refused; what it says of arguments stays."""
    offer = Offer(name="odd.tool", description="Odd.", schema={"additionalProperties": False, **schema})
    await talk.ask(offers=[offer])
    (tool,) = talk.server.bodies[0]["tools"]
    assert tool["function"]["parameters"] == {
        "properties": {},
        "additionalProperties": False,
        "type": "object",
    }


async def test_the_environment_does_not_move_the_key(talk, monkeypatch):
    """Addresses and keys come from the operator's settings alone."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    assert (await talk.ask()).text == "ok"
    assert talk.server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("kind", ["anthropic", "gemini", "openai"])
async def test_no_key_for_the_public_address(kind):
    """Said at once, without asking anybody."""
    module = sys.modules[ADAPTERS[kind].__module__]
    chat = ADAPTERS[kind](Endpoint(name=kind, model="m", base_url=module.PUBLIC), Threads(), str)
    with pytest.raises(ChatFailed, match=f"There is no key for '{kind}'") as caught:
        await chat.reply(QUESTION, (), on_text=print, deadline=asyncio.get_running_loop().time() + 20)
    assert caught.value.kind == "auth"
    await chat.aclose()


@pytest.mark.parametrize(
    ("kind", "package"), [("openai", "openai"), ("gemini", "google.genai"), ("anthropic", "anthropic")]
)
async def test_a_package_that_is_not_installed(kind, package, monkeypatch):
    """The error says what to type."""
    monkeypatch.setitem(sys.modules, package, None)
    chat = ADAPTERS[kind](Endpoint(name=kind, model="m", base_url=PUBLIC, key="k"), Threads(), str)
    with pytest.raises(SettingsError) as caught:
        await chat.reply(QUESTION, (), on_text=print, deadline=asyncio.get_running_loop().time() + 20)
    assert str(caught.value) == (
        f"The package {package!r} is not installed. Run: pip install 'onetool[{kind}]'"
    )


async def test_what_is_sent(talk):
    """The whole request, once, as it is on the wire."""
    await talk.ask(offers=OFFERS[:1])
    assert talk.server.bodies == [
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
    assert json.loads(json.dumps(talk.server.bodies[0])) == talk.server.bodies[0]
