"""The native Ollama chat API.

Unlike its OpenAI-compatible API it requires no extra package and reports that a model does not support tools.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from onetool.domain.chat.messages import ChatModelError, Message, Stop

from .coerce import as_dict, as_list, as_str, token_count
from .endpoint import Endpoint
from .images import encode_base64, move_images
from .lazy_client import make_http_client
from .remote_model import RemoteChatModel
from .response_builder import ResponseBuilder
from .tool_names import ToolNameCodec, parse_arguments, sendable

if TYPE_CHECKING:
    import httpx2

OK, NOT_FOUND = 200, 404
MAX_LINE_LENGTH = 8 * 2**20
MAX_ERROR_LENGTH = 64 * 2**10
STOPS: Mapping[str, Stop] = {"length": "length"}


class OllamaChat(RemoteChatModel["httpx2.AsyncClient"]):
    """A model behind an Ollama server. Tools require Ollama 0.3 or later."""

    @property
    def _url(self) -> str:
        return self._endpoint.base_url.rstrip("/").removesuffix("/v1").removesuffix("/api") + "/api/chat"

    def _create_client(self) -> "httpx2.AsyncClient":
        return make_http_client()

    async def _close(self, client: "httpx2.AsyncClient") -> None:
        await client.aclose()

    def _request(self, messages: Sequence[Message], codec: ToolNameCodec) -> bytes:
        tools = codec.definitions("ollama")
        request = {
            "model": self.model,
            "messages": [_message(message, codec) for message in move_images(messages)],
            "stream": True,
            **({"tools": tools} if tools else {}),
        }
        return orjson.dumps(sendable(request))

    async def _attempt(self, request: bytes, builder: ResponseBuilder) -> None:
        async with aclosing(self._chunks(request, builder)) as chunks:
            async for chunk in chunks:
                _add_chunk(chunk, builder, self._endpoint)

    async def _chunks(self, request: bytes, builder: ResponseBuilder) -> AsyncGenerator[Mapping[str, Any]]:
        client = await self._client.get()
        authorization = {"Authorization": f"Bearer {self._endpoint.key}"} if self._endpoint.key else {}
        headers = {"Content-Type": "application/json", **authorization}
        with _map_errors(self._endpoint):
            async with client.stream("POST", self._url, content=request, headers=headers) as response:
                if response.status_code != OK:
                    raise await _rejected(self._endpoint, response)
                async for line in _lines(response):
                    builder.has_started = True
                    yield as_dict(orjson.loads(line))


async def _lines(response: "httpx2.Response") -> AsyncGenerator[bytes]:
    """Yield the lines of a response, one JSON value each. The last line end may be missing."""
    rest = b""
    async for content in response.aiter_bytes():
        *lines, rest = (rest + content).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
        if len(rest) > MAX_LINE_LENGTH:
            raise ValueError("the line is too long")
    if rest.strip():
        yield rest


@contextmanager
def _map_errors(endpoint: Endpoint) -> Iterator[None]:
    import httpx2

    try:
        yield
        return
    except httpx2.HTTPError:
        mapped = endpoint.unreachable()
    except ValueError:
        mapped = endpoint.malformed("a line that is not JSON")
    raise mapped from None


async def _rejected(endpoint: Endpoint, response: "httpx2.Response") -> ChatModelError:
    content = b""
    async for part in response.aiter_bytes():
        content += part
        if len(content) > MAX_ERROR_LENGTH:
            break
    message = _error_message(content)
    if response.status_code == NOT_FOUND and "not found" in message and "model" in message:
        message += f". Run: ollama pull {endpoint.model}"
    if "does not support tools" in message:
        message += ". Use a model that does, or ask without tools. Tools require Ollama 0.3.0 or later."
    return endpoint.rejected(response.status_code, message, response.headers)


def _error_message(content: bytes) -> str:
    try:
        return as_str(as_dict(orjson.loads(content)).get("error"))
    except orjson.JSONDecodeError:
        return content.decode("utf-8", "replace")


def _message(message: Message, codec: ToolNameCodec) -> dict[str, Any]:
    """Convert a message. Older servers ignore ids and match a result by tool name and position."""
    if message.role == "tool":
        fields = {"tool_name": codec.encode(message.name), "tool_call_id": message.call_id}
        return {"role": "tool", "content": message.text, **fields}
    calls = [
        {
            "id": call.id,
            "function": {"name": codec.encode(call.name), "arguments": parse_arguments(call.arguments_text)},
        }
        for call in message.calls
    ]
    images = [encode_base64(image) for image in message.images]
    optional = {"tool_calls": calls, "images": images}
    return {"role": message.role, "content": message.text} | {
        key: value for key, value in optional.items() if value
    }


def _add_chunk(chunk: Mapping[str, Any], builder: ResponseBuilder, endpoint: Endpoint) -> None:
    if "error" in chunk:
        raise endpoint.interrupted("unreachable", as_str(chunk["error"]))
    message = as_dict(chunk.get("message"))
    builder.add_text(as_str(message.get("content")))
    for call in as_list(message.get("tool_calls")):
        function = as_dict(as_dict(call).get("function"))
        arguments = function.get("arguments") or {}
        builder.add_call(
            object(),
            id=as_str(as_dict(call).get("id")),
            name=as_str(function.get("name")),
            arguments=arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode(),
        )
    if chunk.get("done") is True:
        builder.stop = STOPS.get(as_str(chunk.get("done_reason")), "end")
        builder.tokens = token_count(chunk, ["prompt_eval_count"], ["eval_count"])
