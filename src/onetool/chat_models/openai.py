"""The OpenAI chat completions API, and compatible servers."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from onetool.domain.chat.messages import Message, Stop
from onetool.domain.chat.providers import PROVIDERS
from onetool.domain.content.media import Media

from .coerce import as_dict, as_list, as_str, token_count
from .images import encode_base64, move_images
from .lazy_client import import_optional, make_http_client
from .remote_model import RemoteChatModel
from .response_builder import ResponseBuilder
from .sdk_errors import dump_chunk, map_errors
from .tool_names import ToolNameCodec, is_complete, sendable

if TYPE_CHECKING:
    import openai

PUBLIC_URL = PROVIDERS["openai"].base_url
STOPS: Mapping[str, Stop] = {
    "stop": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "refused",
}


class OpenAIChat(RemoteChatModel["openai.AsyncOpenAI"]):
    """A model behind the OpenAI API, at any base URL."""

    async def _close(self, client: "openai.AsyncOpenAI") -> None:
        await client.close()

    def _create_client(self) -> "openai.AsyncOpenAI":
        sdk = import_optional("openai", "openai")
        client: openai.AsyncOpenAI = sdk.AsyncOpenAI(
            api_key=self._endpoint.key_to_send(PUBLIC_URL),
            base_url=self._endpoint.base_url,
            max_retries=0,
            http_client=make_http_client(),
        )
        _ = client.chat.completions.with_raw_response  # its import would block the event loop
        return client

    def _request(self, messages: Sequence[Message], codec: ToolNameCodec) -> dict[str, Any]:
        tools = codec.definitions("openai")
        request = {
            "model": self.model,
            "messages": [_message(message, codec) for message in move_images(messages)],
            "stream": True,
            "stream_options": {"include_usage": True},
            **({"tools": tools} if tools else {}),
        }
        return sendable(request)  # type: ignore[no-any-return]

    async def _attempt(self, request: Mapping[str, Any], builder: ResponseBuilder) -> None:
        async with aclosing(self._chunks(request, builder)) as chunks:
            async for chunk in chunks:
                _add_chunk(chunk, builder)

    async def _chunks(
        self, request: Mapping[str, Any], builder: ResponseBuilder
    ) -> AsyncGenerator[Mapping[str, Any]]:
        client = await self._client.get()
        with map_errors(import_optional("openai", "openai"), self._endpoint):
            response = await client.chat.completions.with_raw_response.create(**request)
            builder.has_started = True
            async with aclosing(response.http_response):
                if response.headers.get("content-type", "").startswith("application/json"):
                    yield as_dict(json.loads(await response.http_response.aread()))
                    return
                async for chunk in response.parse():
                    yield dump_chunk(chunk)


def _message(message: Message, codec: ToolNameCodec) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if message.images:
        text = {"type": "text", "text": message.text}
        return {"role": message.role, "content": [text, *map(_image, message.images)]}
    if not message.calls:
        return {"role": message.role, "content": message.text}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": codec.encode(call.name),
                "arguments": call.arguments_text if is_complete(call.arguments_text) else "{}",
            },
        }
        for call in message.calls
    ]
    content = {"content": message.text} if message.text else {}
    return {"role": "assistant", **content, "tool_calls": calls}


def _image(image: Media) -> dict[str, Any]:
    url = f"data:{image.mime_type};base64,{encode_base64(image)}"
    return {"type": "image_url", "image_url": {"url": url}}


def _add_chunk(chunk: Mapping[str, Any], builder: ResponseBuilder) -> None:
    """Add a chunk of a stream, or the whole response of a server that does not stream."""
    builder.tokens = (
        token_count(chunk.get("usage"), ["prompt_tokens"], ["completion_tokens"]) or builder.tokens
    )
    for choice in as_list(chunk.get("choices"))[:1]:
        delta = as_dict(as_dict(choice).get("delta") or as_dict(choice).get("message"))
        builder.add_text(as_str(delta.get("content")))
        refusal = as_str(delta.get("refusal"))
        builder.add_text(refusal)
        for position, call in enumerate(as_list(delta.get("tool_calls"))):
            _add_call(as_dict(call), position, builder)
        reason = as_str(as_dict(choice).get("finish_reason"))
        if refusal or builder.stop == "refused":
            builder.stop = "refused"
        elif reason:
            builder.stop = STOPS.get(reason, "end")


def _add_call(call: Mapping[str, Any], position: int, builder: ResponseBuilder) -> None:
    function = as_dict(call.get("function"))
    index = call.get("index")
    builder.add_call(
        index if isinstance(index, int) else position,
        id=as_str(call.get("id")),
        name=as_str(function.get("name")),
        arguments=as_str(function.get("arguments")),
    )
