"""The Anthropic messages API."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from onetool.domain.chat.messages import Message, Stop
from onetool.domain.chat.providers import PROVIDERS

from .anthropic_messages import ThinkingBlocks, forbidden_tools, make_messages
from .coerce import as_dict, as_str, token_count
from .lazy_client import import_optional, make_http_client
from .remote_model import RemoteChatModel
from .response_builder import ResponseBuilder
from .roles import system_text
from .sdk_errors import dump_chunk, map_errors
from .tool_names import ToolNameCodec, sendable

if TYPE_CHECKING:
    import anthropic

PUBLIC_URL = PROVIDERS["anthropic"].base_url
MAX_TOKENS = 8192
"""Required by the API. The output limit of the smallest model in use."""
STOPS: Mapping[str, Stop] = {
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
INPUT_COUNTS = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]


class AnthropicChat(RemoteChatModel["anthropic.AsyncAnthropic"]):
    """A model behind the Anthropic API."""

    async def _close(self, client: "anthropic.AsyncAnthropic") -> None:
        await client.close()

    def _create_client(self) -> "anthropic.AsyncAnthropic":
        sdk = import_optional("anthropic", "anthropic")
        client: anthropic.AsyncAnthropic = sdk.AsyncAnthropic(
            api_key=self._endpoint.key_to_send(PUBLIC_URL),
            base_url=self._endpoint.base_url,
            max_retries=0,
            http_client=make_http_client(),
        )
        _ = client.messages  # its import would block the event loop
        return client

    def _request(self, messages: Sequence[Message], codec: ToolNameCodec) -> dict[str, Any]:
        system, tools = system_text(messages), codec.definitions("anthropic")
        request = {
            "model": self.model,
            "max_tokens": MAX_TOKENS,
            "messages": make_messages(messages, codec),
            "stream": True,
            **({"system": system} if system else {}),
            **({"tools": tools} if tools else forbidden_tools(messages, codec)),
        }
        return sendable(request)  # type: ignore[no-any-return]

    async def _attempt(self, request: Mapping[str, Any], builder: ResponseBuilder) -> None:
        reader = _StreamReader(builder)
        async with aclosing(self._chunks(request, builder)) as chunks:
            async for chunk in chunks:
                reader.add_event(chunk)

    async def _chunks(
        self, request: Mapping[str, Any], builder: ResponseBuilder
    ) -> AsyncGenerator[Mapping[str, Any]]:
        client = await self._client.get()
        with map_errors(import_optional("anthropic", "anthropic"), self._endpoint):
            async with await client.messages.create(**request) as stream:
                builder.has_started = True
                async for chunk in stream:
                    yield dump_chunk(chunk)


class _StreamReader:
    """Adds the events of one stream to a response."""

    def __init__(self, builder: ResponseBuilder) -> None:
        self._builder = builder
        self._thinking = ThinkingBlocks()
        self._usage: dict[str, Any] = {}

    def add_event(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start":
            self._usage |= as_dict(as_dict(event.get("message")).get("usage"))
        elif kind == "content_block_start":
            self._start_block(event.get("index"), as_dict(event.get("content_block")))
        elif kind == "content_block_delta":
            self._continue_block(event.get("index"), as_dict(event.get("delta")))
        elif kind == "message_delta":
            self._end_message(as_dict(event.get("delta")), as_dict(event.get("usage")))

    def _start_block(self, index: Any, block: Mapping[str, Any]) -> None:
        if block.get("type") == "text":
            self._builder.add_text(as_str(block.get("text")))
        elif block.get("type") == "tool_use":
            self._builder.add_call(
                _block_key(index),
                id=as_str(block.get("id")),
                name=as_str(block.get("name")),
                signature=self._thinking.signature(),
            )
        else:
            self._thinking.start(block)

    def _continue_block(self, index: Any, delta: Mapping[str, Any]) -> None:
        if delta.get("type") == "text_delta":
            self._builder.add_text(as_str(delta.get("text")))
        elif delta.get("type") == "input_json_delta":
            self._builder.add_call(_block_key(index), arguments=as_str(delta.get("partial_json")))
        else:
            self._thinking.append(delta)

    def _end_message(self, delta: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        self._usage |= {name: count for name, count in usage.items() if count is not None}
        self._builder.tokens = token_count(self._usage, INPUT_COUNTS, ["output_tokens"])
        reason = as_str(delta.get("stop_reason"))
        if reason:
            self._builder.stop = STOPS.get(reason, "end")


def _block_key(index: Any) -> int:
    return index if isinstance(index, int) else -1
