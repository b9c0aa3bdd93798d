"""Images in results of tools, from the tool to the request to the model."""

import json
import random

import pytest

from chat_models.anthropic_server import event
from chat_models.harness import SERVERS, make_harness
from chat_models.provider_server import CallTurn, Fault, Status, TextTurn
from conversation.content_source import content_source
from onetool.conversation.conversation import AskRequest, Conversation
from onetool.conversation.images import MAX_IMAGES, MAX_LINES
from onetool.domain.calls.effect import Effect
from onetool.domain.chat.attachments import MAX_IMAGE_BYTES, MAX_TOTAL_IMAGE_BYTES
from onetool.domain.chat.messages import Message
from onetool.domain.chat.transcript import message_record, replay, to_line
from onetool.sdk import Media, tool
from onetool.testing import memory_runtime
from support.images import PNG, encoded, image_block

LARGE = PNG + random.Random(1).randbytes(150_000)
URL_SAFE = str.maketrans("-_", "+/")


DONE = TextTurn(text=["Done."])


def call_turn(name="s__tool", id="c0", arguments=()):
    return TextTurn(calls=[CallTurn(name, list(arguments), id=id)], stop="calls")


async def converse(runtime, kind="anthropic", calls=("s__tool",), images=True, responses=(), **options):
    """Ask a model that calls tools, one in each turn, or that has other responses. Return its server."""
    async with SERVERS[kind]() as server:
        turns = [call_turn(name, f"c{index}") for index, name in enumerate(calls)]
        server.responses = list(responses) or [*turns, DONE]
        harness = make_harness(kind, server, images=images)
        allowed = frozenset(name.replace("__", ".") for name in calls)
        request = AskRequest(text="hi", default_effect=Effect.ALLOW, **({"allowed": allowed} | options))
        server.result = await Conversation(runtime, harness.chat, "s").ask(request)
        await harness.chat.aclose()
        return server


def sent(server, data=PNG):
    """Return how often the last request contains an image."""
    return json.dumps(server.bodies[-1]).translate(URL_SAFE).count(encoded(data))


@pytest.mark.spec("MCP-09")
@pytest.mark.spec("MCP-05")
@pytest.mark.parametrize("kind", sorted(SERVERS))
async def test_model_without_images_gets_one_line(kind):
    async with memory_runtime(sources=[content_source(image_block(LARGE))]) as ot:
        server = await converse(ot.runtime, kind, images=False)
    request = json.dumps(server.bodies[-1])
    assert request.count(f"Media(mime_type='image/png', size={len(LARGE)}, handle='") == 1
    assert encoded(LARGE)[:200] not in request.translate(URL_SAFE)


@pytest.mark.parametrize(
    "result",
    [
        {"content": [image_block()], "structuredContent": {"n": 1}},
        {"content": [{"type": "text", "text": "It failed."}, image_block()], "isError": True},
        {
            "content": [
                {
                    "type": "resource",
                    "resource": {"uri": "x:y", "mimeType": "image/png", "blob": encoded(PNG)},
                }
            ]
        },
    ],
)
async def test_image_anywhere_in_a_result_is_sent_and_named(result):
    async with memory_runtime(sources=[content_source(result=result)]) as ot:
        server = await converse(ot.runtime)
    assert sent(server) == 1
    assert json.dumps(server.bodies[-1]).count("handle='") == 1


@tool(cacheable=True)
def picture() -> Media:
    """Return a picture."""
    return Media(PNG, "image/png")


async def test_images_of_packs_and_of_code_are_sent():
    async with memory_runtime(packs={"demo": [picture]}) as ot:
        assert sent(await converse(ot.runtime, calls=["demo__picture"])) == 1
    async with memory_runtime(packs={"demo": [picture]}) as ot:
        arguments = json.dumps({"command": "[demo.picture(), demo.picture()]"})
        responses = [call_turn("run", arguments=[arguments]), DONE]
        assert sent(await converse(ot.runtime, responses=responses, allowed=None, choice="search")) == 2


async def test_result_with_media_is_not_cached():
    """Its bytes are not part of the session."""
    async with memory_runtime(packs={"demo": [picture]}) as ot:
        server = await converse(ot.runtime, calls=["demo__picture", "demo__picture"])
        assert [result.meta.cached for result in server.result.results] == [False, False]
    assert sent(server) == 2


@pytest.mark.parametrize(
    "block",
    [
        image_block(PNG + b"\0" * MAX_IMAGE_BYTES),
        image_block(b"no image at all"),
        image_block(b"<svg onload='x()'/>", "image/svg+xml"),
        {**image_block(b"RIFF...."), "type": "audio", "mimeType": "audio/wav"},
    ],
)
async def test_what_providers_reject_is_only_a_line(block):
    """A provider would reject this request and all later ones of the session."""
    async with memory_runtime(sources=[content_source(block)]) as ot:
        server = await converse(ot.runtime)
    request = server.bodies[-1]
    assert "handle='" in json.dumps(request)
    assert '"image"' not in json.dumps(request["messages"])


async def test_image_has_the_type_of_its_bytes():
    gif, webp = b"GIF89a" + bytes(9), b"RIFF\0\0\0\0WEBPVP8 "
    blocks = [image_block(mime_type="image/jpeg"), image_block(gif), image_block(webp)]
    async with memory_runtime(sources=[content_source(*blocks)]) as ot:
        server = await converse(ot.runtime)
    images = [
        item for item in server.bodies[-1]["messages"][-1]["content"][0]["content"] if item["type"] == "image"
    ]
    assert [image["source"]["media_type"] for image in images] == ["image/png", "image/gif", "image/webp"]


async def test_only_the_newest_images_are_sent_if_there_are_too_many():
    first, second = PNG + b"1", PNG + b"2"
    blocks = [image_block(second)] * (MAX_IMAGES - 2)
    sources = [content_source(*[image_block(first)] * 3), content_source(*blocks, name="t.tool")]
    async with memory_runtime(sources=sources) as ot:
        server = await converse(ot.runtime, calls=["s__tool", "t__tool"])
    assert (sent(server, first), sent(server, second)) == (2, MAX_IMAGES - 2)
    assert json.dumps(server.bodies[-1]).count(" was left out: ") == 1


async def test_images_that_are_too_large_together_are_not_all_sent():
    large = PNG + bytes(MAX_IMAGE_BYTES - len(PNG))
    async with memory_runtime(sources=[content_source(*[image_block(large)] * 4)]) as ot:
        server = await converse(ot.runtime)
    assert sent(server, large) == MAX_TOTAL_IMAGE_BYTES // MAX_IMAGE_BYTES == 3
    assert json.dumps(server.bodies[-1]).count(" was left out: ") == 1


async def test_not_every_image_that_is_left_out_has_a_line():
    blocks = [image_block()] * (MAX_IMAGES + MAX_LINES + 3)
    async with memory_runtime(sources=[content_source(*blocks)]) as ot:
        request = json.dumps((await converse(ot.runtime)).bodies[-1])
    assert (request.count(" was left out: "), "And 3 more." in request) == (MAX_LINES, True)


async def test_all_media_of_a_result_are_counted_but_not_all_are_named():
    result = {"content": [image_block()] * 30, "structuredContent": {"n": 1}}
    async with memory_runtime(sources=[content_source(result=result)]) as ot:
        server = await converse(ot.runtime, images=False)
    request = json.dumps(server.bodies[-1])
    assert (request.count("handle='"), "And 10 more." in request) == (20, True)


async def test_images_that_the_model_rejects_are_omitted():
    """The question is repeated without them, and later turns have none."""
    responses = [call_turn(), Status(400, message="no images"), call_turn(), DONE]
    async with memory_runtime(sources=[content_source(image_block())]) as ot:
        server = await converse(ot.runtime, responses=responses)
    assert server.result.text == "Done."
    counts = [json.dumps(body).count(encoded(PNG)) for body in server.bodies]
    assert counts == [0, 1, 0, 0]


async def test_answer_that_has_begun_is_not_repeated():
    """A failure in the middle of an answer is no reason to ask again without images."""
    failing = Fault("", TextTurn(text=["Half"]), [event("error", error={"type": "invalid_request_error"})])
    async with memory_runtime(sources=[content_source(image_block())]) as ot:
        server = await converse(ot.runtime, responses=[call_turn(), failing, DONE])
    assert (server.result.failure.kind, len(server.bodies)) == ("rejected", 2)


@pytest.mark.spec("MCP-10")
@pytest.mark.spec("MCP-05")
@pytest.mark.parametrize("kind", sorted(SERVERS))
async def test_resumed_conversation_sends_images_again_while_they_are_stored(kind):
    async with memory_runtime(sources=[content_source(image_block(LARGE))]) as ot:
        await converse(ot.runtime, kind)
        records = b"".join(map(to_line, await ot.runtime.sessions.read("s"))).decode()
        resumed = await converse(ot.runtime, kind, calls=[])
        assert sent(resumed, LARGE) == 1
        assert "expired" not in json.dumps(resumed.bodies[-1])
    assert "handle" in records
    assert encoded(LARGE)[:200] not in records


@pytest.mark.spec("MCP-10")
async def test_resumed_conversation_tells_the_model_that_images_have_expired():
    settings = {"output": {"ttl_s": 0.000001}}
    async with memory_runtime(sources=[content_source(image_block(LARGE))], settings=settings) as ot:
        first = await converse(ot.runtime)
        assert sent(first, LARGE) == 1
        assert "expired" not in json.dumps(first.bodies[-1])
        resumed = json.dumps((await converse(ot.runtime, calls=[])).bodies[-1])
        records = json.dumps(await ot.runtime.sessions.read("s"))
    assert encoded(LARGE)[:200] not in resumed
    line = f"Media(mime_type='image/png', size={len(LARGE)}, handle='"
    assert (resumed.count(line), resumed.count(" has expired.")) == (2, 1)
    assert "expired" not in records


@pytest.mark.parametrize("media", ["x", [1], [{"handle": 1, "mimeType": "image/png", "size": 1}], [{}]])
def test_message_with_invalid_media_is_skipped(media):
    """Like every record that another version wrote."""
    message = Message(role="tool", text="x", call_id="c", name="s.tool")
    records = [message_record(Message(role="user", text="hi"), "a", 1.0)]
    records.append({**message_record(message, "a", 2.0), "media": media})
    assert [message.role for message in replay(records).messages] == ["user"]
