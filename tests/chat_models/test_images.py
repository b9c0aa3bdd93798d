"""Images in results of tools, in the format of each provider."""

import asyncio
import base64
import json
import logging

import pytest

from chat_models.harness import QUESTION
from chat_models.provider_server import Status, TextTurn
from onetool.bootstrap.chat_models import ConfiguredChatModels
from onetool.domain.chat.messages import Message, ToolCallRequest
from onetool.domain.content.media import Media
from onetool.testing import memory_runtime
from onetool.threads import Threads
from support.images import make_png

PNG = make_png(99)
ENCODED = base64.b64encode(PNG).decode()
URL_SAFE = str.maketrans("-_", "+/")
WHERE = {
    "anthropic": lambda body: body["messages"][-1]["content"][1]["content"][-1]["source"]["data"],
    "gemini": lambda body: body["contents"][-1]["parts"][1]["functionResponse"]["parts"][0]["inline_data"][
        "data"
    ],
    "ollama": lambda body: body["messages"][-1]["images"][0],
    "openai": lambda body: body["messages"][-1]["content"][1]["image_url"]["url"].partition("base64,")[2],
}
"""Where the image of the second of two results is."""


def history(*, failed=False, text="It is shown."):
    calls = tuple(ToolCallRequest(id=id, name="web.screenshot") for id in ("c1", "c2"))
    image = Media(PNG, "image/png")
    return [
        *QUESTION,
        Message(role="assistant", calls=calls),
        Message(role="tool", call_id="c1", name="web.screenshot", text="none"),
        Message(role="tool", call_id="c2", name="web.screenshot", text=text, failed=failed, images=(image,)),
    ]


def count_images(body):
    """Count the image. Gemini's SDK writes the URL-safe form of base64."""
    return json.dumps(body).translate(URL_SAFE).count(ENCODED)


@pytest.mark.spec("MCP-09")
@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("text", ["It is shown.", ""])
async def test_image_is_sent_once_where_the_provider_expects_it(harness, failed, text):
    assert (await harness.ask(messages=history(failed=failed, text=text))).text == "ok"
    (body,) = harness.server.bodies
    assert WHERE[harness.chat.name](body).translate(URL_SAFE) == ENCODED
    assert count_images(body) == 1


@pytest.mark.spec("MCP-05")
@pytest.mark.parametrize("response", [TextTurn(text=["ok"]), Status(500, message=f"invalid: {ENCODED}")])
async def test_image_is_in_no_log_and_no_error(harness, caplog, response):
    """Not even if all is logged, or if the provider quotes the request in its error."""
    harness.server.responses = [response]
    with caplog.at_level(logging.DEBUG):
        failures = await asyncio.gather(harness.ask(messages=history()), return_exceptions=True)
    for text in (caplog.text, str(failures)):
        assert ENCODED[:60] not in text.translate(URL_SAFE)


async def test_images_that_follow_the_results_are_attributed(harness):
    """A later message stays after them, and the model is told from which tool they are."""
    messages = [
        *history(),
        Message(role="assistant", text="A dot."),
        Message(role="user", text="Thanks"),
    ]
    assert (await harness.ask(messages=messages)).text == "ok"
    (body,) = harness.server.bodies
    assert count_images(body) == 1
    if harness.chat.name in ("openai", "ollama"):
        roles = [message["role"] for message in body["messages"]]
        assert roles[-5:] == ["tool", "tool", "user", "assistant", "user"]
        assert "in order: web.screenshot." in json.dumps(body["messages"][-3])


@pytest.mark.parametrize(
    ("provider", "settings", "expected"),
    [
        ("anthropic", {}, True),
        ("anthropic", {"images": False}, False),
        ("gemini", {}, True),
        ("openai", {}, True),
        ("openai", {"base_url": "http://127.0.0.1:8000/v1"}, False),
        ("other", {"base_url": "http://127.0.0.1:8000/v1", "model": "m"}, False),
        ("other", {"base_url": "http://127.0.0.1:8000/v1", "model": "m", "images": True}, True),
        ("other", {"base_url": "http://127.0.0.1:8000", "protocol": "anthropic"}, True),
        ("ollama", {}, False),
        ("ollama", {"images": True}, True),
        ("scripted", {}, False),
    ],
)
async def test_model_accepts_images_by_default_or_by_setting(provider, settings, expected):
    async with memory_runtime(settings={"providers": {provider: settings}}) as ot:
        configuration = ot.runtime.state.configuration
        models = ConfiguredChatModels(configuration, {}, Threads(), lambda: "id")
        model = models.open(provider)
        assert bool(model.image_types) is expected
        await model.aclose()


async def test_gemini_accepts_no_gif(harness):
    """The other providers do."""
    image_types = type(harness.chat).supported_image_types
    assert ("image/gif" in image_types) is (harness.chat.name != "gemini")
