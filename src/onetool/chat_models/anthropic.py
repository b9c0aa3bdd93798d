"""Anthropic's messages."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from onetool.domain.chat import Message, Stop
from onetool.domain.providers import PROVIDERS

from .answer import Answer
from .anthropic_messages import Thoughts, forbidden_tools, make_messages
from .clients import import_extra, make_http_client
from .reading import a_map, a_text, token_count
from .remote import RemoteChat
from .stainless import as_map, told_in_our_words
from .turns import system_text
from .wire import Wire, sendable

if TYPE_CHECKING:
    import anthropic

PUBLIC = PROVIDERS["anthropic"].base_url
MAX_TOKENS = 8192
"""Must be given; as much as the smallest model in use may write."""
STOPS: Mapping[str, Stop] = {
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
READ = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]


class AnthropicChat(RemoteChat["anthropic.AsyncAnthropic"]):
    """A model behind Anthropic's API."""

    async def _close(self, client: "anthropic.AsyncAnthropic") -> None:
        await client.close()

    def _make_client(self) -> "anthropic.AsyncAnthropic":
        sdk = import_extra("anthropic", "anthropic")
        client: anthropic.AsyncAnthropic = sdk.AsyncAnthropic(
            api_key=self._endpoint.sent_key(PUBLIC),
            base_url=self._endpoint.base_url,
            max_retries=0,
            http_client=make_http_client(),
        )
        _ = client.messages  # imported here, not on the event loop
        return client

    def _request(self, messages: Sequence[Message], wire: Wire) -> dict[str, Any]:
        system, tools = system_text(messages), wire.definitions("anthropic")
        request = {
            "model": self.model,
            "max_tokens": MAX_TOKENS,
            "messages": make_messages(messages, wire),
            "stream": True,
            **({"system": system} if system else {}),
            **({"tools": tools} if tools else forbidden_tools(messages, wire)),
        }
        return sendable(request)  # type: ignore[no-any-return]

    async def _attempt(self, request: Mapping[str, Any], answer: Answer) -> None:
        taking = _Taking(answer)
        async with aclosing(self._pieces(request, answer)) as pieces:
            async for piece in pieces:
                taking.take(piece)

    async def _pieces(self, request: Mapping[str, Any], answer: Answer) -> AsyncGenerator[Mapping[str, Any]]:
        client = await self._client.get()
        with told_in_our_words(import_extra("anthropic", "anthropic"), self._endpoint):
            async with await client.messages.create(**request) as stream:
                answer.begun = True
                async for piece in stream:
                    yield as_map(piece)


class _Taking:
    """Takes the events of one stream."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._thoughts = Thoughts()
        self._usage: dict[str, Any] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start":
            self._usage |= a_map(a_map(event.get("message")).get("usage"))
        elif kind == "content_block_start":
            self._begin(event.get("index"), a_map(event.get("content_block")))
        elif kind == "content_block_delta":
            self._continue(event.get("index"), a_map(event.get("delta")))
        elif kind == "message_delta":
            self._end(a_map(event.get("delta")), a_map(event.get("usage")))

    def _begin(self, index: Any, block: Mapping[str, Any]) -> None:
        if block.get("type") == "text":
            self._answer.say(a_text(block.get("text")))
        elif block.get("type") == "tool_use":
            self._answer.call(
                _key(index),
                id=a_text(block.get("id")),
                name=a_text(block.get("name")),
                seal=self._thoughts.seal(),
            )
        else:
            self._thoughts.begin(block)

    def _continue(self, index: Any, delta: Mapping[str, Any]) -> None:
        if delta.get("type") == "text_delta":
            self._answer.say(a_text(delta.get("text")))
        elif delta.get("type") == "input_json_delta":
            self._answer.call(_key(index), arguments=a_text(delta.get("partial_json")))
        else:
            self._thoughts.go_on(delta)

    def _end(self, delta: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        self._usage |= {name: count for name, count in usage.items() if count is not None}
        self._answer.tokens = token_count(self._usage, READ, ["output_tokens"])
        reason = a_text(delta.get("stop_reason"))
        if reason:
            self._answer.stop = STOPS.get(reason, "end")


def _key(index: Any) -> int:
    return index if isinstance(index, int) else -1
