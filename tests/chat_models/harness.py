"""What the tests of every chat model share."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chat_models.anthropic_server import AnthropicServer
from chat_models.gemini_server import GeminiServer
from chat_models.loopback import KEY, MODEL, ProviderServer
from chat_models.ollama_server import OllamaServer
from chat_models.openai_server import OpenAIServer
from onetool.chat_models.anthropic import AnthropicChat
from onetool.chat_models.endpoint import Endpoint
from onetool.chat_models.gemini import GeminiChat
from onetool.chat_models.ollama import OllamaChat
from onetool.chat_models.openai import OpenAIChat
from onetool.chat_models.patience import Pace
from onetool.domain.chat import ChatFailed, Message, Offer, Reply
from onetool.threads import Threads

SERVERS = {
    "anthropic": AnthropicServer,
    "gemini": GeminiServer,
    "ollama": OllamaServer,
    "openai": OpenAIServer,
}
ADAPTERS = {"anthropic": AnthropicChat, "gemini": GeminiChat, "ollama": OllamaChat, "openai": OpenAIChat}
QUESTION = (Message(role="system", text="Be brief."), Message(role="user", text="What time is it? 你好"))
OFFERS = (
    Offer(name="time.now", description="The time.", schema={"type": "object", "properties": {}}),
    Offer(
        name="fs.read_file",
        description="Read a file.",
        schema={
            "type": "object",
            "properties": {"path": {"type": "string"}, "maxBytes": {"type": ["integer", "null"]}},
            "required": ["path"],
            "additionalProperties": False,
        },
    ),
)


@dataclass
class Talk:
    """A chat model that speaks to a provider on loopback."""

    server: ProviderServer
    chat: Any
    heard: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    async def ask(
        self, messages: Sequence[Message] = QUESTION, offers: Sequence[Offer] = OFFERS, seconds: float = 20
    ) -> Reply:
        deadline = asyncio.get_running_loop().time() + seconds
        return await self.chat.reply(messages, offers, on_text=self.heard.append, deadline=deadline)

    async def fail(self, **given: Any) -> ChatFailed:
        try:
            reply = await self.ask(**given)
        except ChatFailed as failed:
            return failed
        raise AssertionError(f"no failure but {reply}")


def make_talk(kind: str, server: ProviderServer, **changed: Any) -> Talk:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    endpoint = Endpoint(**{"name": kind, "model": MODEL, "base_url": server.base_url, "key": KEY} | changed)
    ids = iter(range(1000))
    pace = Pace(sleep=sleep, random=lambda: 0.0)
    chat = ADAPTERS[kind](endpoint, Threads(), lambda: f"made_{next(ids)}", pace)
    return Talk(server, chat, waits=waits)
