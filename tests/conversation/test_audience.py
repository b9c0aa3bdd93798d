"""`annotations.audience`: who gets which part of a result, the person or the model."""

import json

import pytest

from chat_models.harness import SERVERS, make_harness
from chat_models.provider_server import CallTurn, TextTurn
from conversation.content_source import content_source
from onetool.conversation.conversation import AskRequest, Conversation, ignore_event
from onetool.conversation.result import ToolCallFinished
from onetool.domain.calls.effect import Effect
from onetool.domain.chat.transcript import replay
from onetool.interfaces.cli.ask_view import AskView
from onetool.interfaces.cli.start_progress import StartProgress
from onetool.testing import memory_runtime
from support.images import PNG, encoded, image_block, make_png
from support.rest_in_process import serve_rest

BLUE = make_png(color=b"\x00\x00\xff")


def text_block(text, *audience):
    return {
        "type": "text",
        "text": text,
        **({"annotations": {"audience": list(audience)}} if audience else {}),
    }


BLOCKS = [
    text_block("both"),
    text_block("seen-by-person", "user"),
    text_block("seen-by-model", "assistant"),
    text_block("everyone", "user", "assistant"),
    image_block(PNG, annotations={"audience": ["user"]}),
    image_block(BLUE, annotations={"audience": ["assistant"]}),
]


WORDS = {"both", "everyone", "seen-by-model", "seen-by-person"}


def words(text):
    return {word for word in WORDS if word in text}


async def ask(runtime, turns=1, on_event=ignore_event):
    """Let a model call the tool; return the result and the last request to the model."""
    async with SERVERS["anthropic"]() as server:
        call = TextTurn(calls=[CallTurn("s__tool", id="c1")], stop="calls")
        server.responses = [*[call] * turns, TextTurn(text=["Done."])]
        harness = make_harness("anthropic", server, images=True)
        request = AskRequest(
            text="hi", default_effect=Effect.ALLOW, allowed=frozenset({"s.tool"}), on_event=on_event
        )
        result = await Conversation(runtime, harness.chat, "s").ask(request)
        await harness.chat.aclose()
        return result, json.dumps(server.bodies[-1]["messages"])


@pytest.mark.spec("MCP-12")
async def test_each_reader_gets_its_own_parts():
    events = []
    async with memory_runtime(sources=[content_source(*BLOCKS)]) as ot:
        result, request = await ask(ot.runtime, on_event=events.append)
        (shown,) = [event.result for event in events if isinstance(event, ToolCallFinished)]
        records = await ot.runtime.sessions.read("s")
    assert words(request) == WORDS - {"seen-by-person"}
    assert (encoded(BLUE) in request, encoded(PNG) in request) == (True, False)
    for text in (repr(shown.data), json.dumps(result.to_json()["toolResults"], default=str)):
        assert words(text) == WORDS - {"seen-by-model"}
    (media,) = result.to_json()["toolResults"][0]["content"]
    assert media["size"] == len(PNG)
    assert f"handle='{media['handle']}'" not in request
    assert encoded(PNG)[:40] not in json.dumps(records)


@pytest.mark.spec("MCP-12")
async def test_stored_conversation_has_what_each_reader_sees():
    """The resumed model gets its parts again, and the session over REST shows those of the person."""
    async with memory_runtime(sources=[content_source(*BLOCKS)]) as ot:
        await ask(ot.runtime)
        _, request = await ask(ot.runtime, turns=0)
        async with serve_rest(ot.runtime) as client:
            messages = (await client.get("/sessions/s")).json()["messages"]
            (message,) = [message for message in messages if message["role"] == "tool"]
            (media,) = message["content"]
            data = (await client.get(f"/results/{media['handle']}")).content
    assert words(request) == WORDS - {"seen-by-person"}
    assert (encoded(BLUE) in request, encoded(PNG) in request) == (True, False)
    assert ("seen-by-person" in message["text"], "seen-by-model" in message["text"]) == (True, False)
    assert (media["type"], media["mimeType"], media["size"], data) == ("image", "image/png", len(PNG), PNG)


@pytest.mark.spec("MCP-12")
@pytest.mark.parametrize("schema", [None, {"result": "seen-by-person"}])
async def test_model_is_told_that_a_result_is_for_the_user(schema):
    """Also if structured content repeats the text."""
    structured = {"structuredContent": schema} if schema else {}
    result = {"content": [text_block("seen-by-person", "user")], **structured}
    async with memory_runtime(sources=[content_source(result=result)]) as ot:
        asked, request = await ask(ot.runtime)
    assert words(request) == set()
    assert "The result is for the user, who sees it." in request
    assert asked.results[0].data == "seen-by-person"


async def test_structured_content_that_is_more_than_the_text_is_for_both():
    result = {"content": [text_block("seen-by-person", "user")], "structuredContent": {"n": 1}}
    async with memory_runtime(sources=[content_source(result=result)]) as ot:
        asked, request = await ask(ot.runtime)
    assert ("seen-by-person" in request, "n: 1" in request) == (False, True)
    assert asked.results[0].data == {"n": 1}


@pytest.mark.spec("MCP-12")
async def test_failures_have_readers_too():
    blocks = [text_block("seen-by-person", "user"), text_block("seen-by-model", "assistant")]
    async with memory_runtime(sources=[content_source(result={"content": blocks, "isError": True})]) as ot:
        asked, request = await ask(ot.runtime)
    assert ("Error: seen-by-model" in request, "seen-by-person" in request) == (True, False)
    assert asked.first_error["message"] == "seen-by-person"


@pytest.mark.parametrize(
    "annotations", [None, 1, {}, {"audience": "user"}, {"audience": []}, {"audience": [{}]}]
)
async def test_invalid_audience_is_everyone(annotations):
    block = {"type": "text", "text": "both", "annotations": annotations}
    async with memory_runtime(sources=[content_source(block)]) as ot:
        asked, request = await ask(ot.runtime)
    assert ("both" in request, asked.results[0].data) == (True, "both")


def test_record_with_an_invalid_text_for_the_user_is_skipped():
    record = {"type": "message", "ask": "a", "role": "user", "text": "hi", "userText": 1}
    assert replay([record]).messages == []


@pytest.mark.spec("MCP-12")
async def test_terminal_shows_what_only_the_person_gets(capsys):
    """Control characters are written as escapes."""
    blocks = [*BLOCKS, text_block("red \x1b[31m", "user")]
    async with memory_runtime(sources=[content_source(*blocks)]) as ot:
        view = AskView(verbose=False, progress=StartProgress())
        await ask(ot.runtime, on_event=view.on_event)
    shown = capsys.readouterr().out
    assert ("seen-by-person" in shown, "seen-by-model" in shown) == (True, False)
    assert (shown.count("Media(mime_type='image/png'"), encoded(PNG)[:40] in shown) == (1, False)
    assert "\x1b[31m" not in shown
