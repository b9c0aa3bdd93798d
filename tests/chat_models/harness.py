"""The test harness of the chat models."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chat_models.anthropic_server import AnthropicServer
from chat_models.gemini_server import GeminiServer
from chat_models.ollama_server import OllamaServer
from chat_models.openai_server import OpenAIServer
from chat_models.provider_server import KEY, MODEL, ProviderServer
from onetool.chat_models.anthropic import AnthropicChat
from onetool.chat_models.endpoint import Endpoint
from onetool.chat_models.gemini import GeminiChat
from onetool.chat_models.ollama import OllamaChat
from onetool.chat_models.openai import OpenAIChat
from onetool.domain.chat.messages import ChatModelError, Message, ModelResponse, ToolDefinition
from onetool.network.backoff import Backoff
from onetool.threads import Threads

SERVERS = {
    "anthropic": AnthropicServer,
    "gemini": GeminiServer,
    "ollama": OllamaServer,
    "openai": OpenAIServer,
}
ADAPTERS = {"anthropic": AnthropicChat, "gemini": GeminiChat, "ollama": OllamaChat, "openai": OpenAIChat}
QUESTION = (Message(role="system", text="Be brief."), Message(role="user", text="What time is it? 你好"))
TOOLS = (
    ToolDefinition(name="time.now", description="The time.", schema={"type": "object", "properties": {}}),
    ToolDefinition(
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
class ModelHarness:
    """A chat model that is connected to a fake provider."""

    server: ProviderServer
    chat: Any
    received: list[str] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    async def ask(
        self,
        messages: Sequence[Message] = QUESTION,
        tools: Sequence[ToolDefinition] = TOOLS,
        seconds: float = 20,
    ) -> ModelResponse:
        deadline = asyncio.get_running_loop().time() + seconds
        return await self.chat.reply(messages, tools, on_text=self.received.append, deadline=deadline)

    async def fail(self, **options: Any) -> ChatModelError:
        """Ask and return the error that is raised."""
        try:
            response = await self.ask(**options)
        except ChatModelError as error:
            return error
        raise AssertionError(f"expected an error, got {response}")


def make_harness(kind: str, server: ProviderServer, **overrides: Any) -> ModelHarness:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    endpoint = Endpoint(**{"name": kind, "model": MODEL, "base_url": server.base_url, "key": KEY} | overrides)
    ids = iter(range(1000))
    backoff = Backoff(base_s=0.5, sleep=sleep, random=lambda: 0.0)
    chat = ADAPTERS[kind](endpoint, Threads(), lambda: f"new_id_{next(ids)}", backoff)
    return ModelHarness(server, chat, waits=waits)
