"""OpenAI's chat completions, and everything else that speaks them."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from onetool.domain.chat import Message, Stop
from onetool.domain.providers import PROVIDERS

from .answer import Answer
from .clients import import_extra, make_http_client
from .reading import a_list, a_map, a_text, token_count
from .remote import RemoteChat
from .stainless import as_map, told_in_our_words
from .wire import Wire, is_complete, sendable

if TYPE_CHECKING:
    import openai

PUBLIC = PROVIDERS["openai"].base_url
STOPS: Mapping[str, Stop] = {
    "stop": "end",
    "tool_calls": "calls",
    "function_call": "calls",
    "length": "length",
    "content_filter": "refused",
}


class OpenAIChat(RemoteChat["openai.AsyncOpenAI"]):
    """A model behind OpenAI's API, at whatever address."""

    async def _close(self, client: "openai.AsyncOpenAI") -> None:
        await client.close()

    def _make_client(self) -> "openai.AsyncOpenAI":
        sdk = import_extra("openai", "openai")
        client: openai.AsyncOpenAI = sdk.AsyncOpenAI(
            api_key=self._endpoint.sent_key(PUBLIC),
            base_url=self._endpoint.base_url,
            max_retries=0,
            http_client=make_http_client(),
        )
        _ = client.chat.completions.with_raw_response  # imported here, not on the event loop
        return client

    def _request(self, messages: Sequence[Message], wire: Wire) -> dict[str, Any]:
        tools = wire.definitions("openai")
        request = {
            "model": self.model,
            "messages": [_message(message, wire) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **({"tools": tools} if tools else {}),
        }
        return sendable(request)  # type: ignore[no-any-return]

    async def _attempt(self, request: Mapping[str, Any], answer: Answer) -> None:
        async with aclosing(self._pieces(request, answer)) as pieces:
            async for piece in pieces:
                _take(piece, answer)

    async def _pieces(self, request: Mapping[str, Any], answer: Answer) -> AsyncGenerator[Mapping[str, Any]]:
        client = await self._client.get()
        with told_in_our_words(import_extra("openai", "openai"), self._endpoint):
            response = await client.chat.completions.with_raw_response.create(**request)
            answer.begun = True
            async with aclosing(response.http_response):
                if response.headers.get("content-type", "").startswith("application/json"):
                    yield a_map(json.loads(await response.http_response.aread()))
                    return
                async for piece in response.parse():
                    yield as_map(piece)


def _message(message: Message, wire: Wire) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
    if not message.calls:
        return {"role": message.role, "content": message.text}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": wire.to(call.name),
                "arguments": call.arguments_text if is_complete(call.arguments_text) else "{}",
            },
        }
        for call in message.calls
    ]
    said = {"content": message.text} if message.text else {}
    return {"role": "assistant", **said, "tool_calls": calls}


def _take(piece: Mapping[str, Any], answer: Answer) -> None:
    """Take a piece of a stream, or all of it from a server that does not stream."""
    answer.tokens = token_count(piece.get("usage"), ["prompt_tokens"], ["completion_tokens"]) or answer.tokens
    for choice in a_list(piece.get("choices"))[:1]:
        said = a_map(a_map(choice).get("delta") or a_map(choice).get("message"))
        answer.say(a_text(said.get("content")))
        refusal = a_text(said.get("refusal"))
        answer.say(refusal)
        for at, call in enumerate(a_list(said.get("tool_calls"))):
            _take_call(a_map(call), at, answer)
        reason = a_text(a_map(choice).get("finish_reason"))
        if refusal or answer.stop == "refused":
            answer.stop = "refused"
        elif reason:
            answer.stop = STOPS.get(reason, "end")


def _take_call(call: Mapping[str, Any], at: int, answer: Answer) -> None:
    function = a_map(call.get("function"))
    index = call.get("index")
    answer.call(
        index if isinstance(index, int) else at,
        id=a_text(call.get("id")),
        name=a_text(function.get("name")),
        arguments=a_text(function.get("arguments")),
    )
