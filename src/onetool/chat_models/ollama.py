"""Ollama's own chat: no package of a provider is needed, and what it says when it fails is kept.

Its imitation of OpenAI's API would need one, and hides why a model cannot use tools.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from onetool.domain.chat import ChatFailed, Message, Stop

from .answer import Answer
from .clients import make_http_client
from .endpoint import Endpoint
from .reading import a_list, a_map, a_text, token_count
from .remote import RemoteChat
from .wire import Wire, arguments_of, sendable

if TYPE_CHECKING:
    import httpx2

OK, NOT_FOUND = 200, 404
LONGEST_LINE = 8 * 2**20
LONGEST_ERROR = 64 * 2**10
STOPS: Mapping[str, Stop] = {"length": "length"}


class OllamaChat(RemoteChat["httpx2.AsyncClient"]):
    """A model that Ollama runs, here or elsewhere; tools need version 0.3 or later."""

    @property
    def _url(self) -> str:
        return self._endpoint.base_url.rstrip("/").removesuffix("/v1").removesuffix("/api") + "/api/chat"

    def _make_client(self) -> "httpx2.AsyncClient":
        return make_http_client()

    async def _close(self, client: "httpx2.AsyncClient") -> None:
        await client.aclose()

    def _request(self, messages: Sequence[Message], wire: Wire) -> bytes:
        tools = wire.definitions("ollama")
        request = {
            "model": self.model,
            "messages": [_message(message, wire) for message in messages],
            "stream": True,
            **({"tools": tools} if tools else {}),
        }
        return orjson.dumps(sendable(request))

    async def _attempt(self, request: bytes, answer: Answer) -> None:
        async with aclosing(self._pieces(request, answer)) as pieces:
            async for piece in pieces:
                _take(piece, answer, self._endpoint)

    async def _pieces(self, request: bytes, answer: Answer) -> AsyncGenerator[Mapping[str, Any]]:
        client = await self._client.get()
        key = {"Authorization": f"Bearer {self._endpoint.key}"} if self._endpoint.key else {}
        headers = {"Content-Type": "application/json", **key}
        with _told_in_our_words(self._endpoint):
            async with client.stream("POST", self._url, content=request, headers=headers) as response:
                if response.status_code != OK:
                    raise await _refused(self._endpoint, response)
                async for line in _lines(response):
                    answer.begun = True
                    yield a_map(orjson.loads(line))


async def _lines(response: "httpx2.Response") -> AsyncGenerator[bytes]:
    """One JSON value a line; the last may lack its line end."""
    rest = b""
    async for content in response.aiter_bytes():
        *lines, rest = (rest + content).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
        if len(rest) > LONGEST_LINE:
            raise ValueError("a line without an end")
    if rest.strip():
        yield rest


@contextmanager
def _told_in_our_words(endpoint: Endpoint) -> Iterator[None]:
    import httpx2

    try:
        yield
        return
    except httpx2.HTTPError:
        failed = endpoint.unreachable()
    except ValueError:
        failed = endpoint.rubbish("a line that is no JSON")
    raise failed from None


async def _refused(endpoint: Endpoint, response: "httpx2.Response") -> ChatFailed:
    content = b""
    async for part in response.aiter_bytes():
        content += part
        if len(content) > LONGEST_ERROR:
            break
    said = _said(content)
    if response.status_code == NOT_FOUND and "not found" in said and "model" in said:
        said += f". Run: ollama pull {endpoint.model}"
    if "does not support tools" in said:
        said += ". Choose a model that does, or ask without tools; Ollama itself knows tools from 0.3.0 on."
    return endpoint.refused(response.status_code, said, response.headers)


def _said(content: bytes) -> str:
    try:
        return a_text(a_map(orjson.loads(content)).get("error"))
    except orjson.JSONDecodeError:
        return content.decode("utf-8", "replace")


def _message(message: Message, wire: Wire) -> dict[str, Any]:
    """Older servers know no ids and pass over them: there a result is told by its tool and its place."""
    if message.role == "tool":
        about = {"tool_name": wire.to(message.name), "tool_call_id": message.call_id}
        return {"role": "tool", "content": message.text, **about}
    calls = [
        {
            "id": call.id,
            "function": {"name": wire.to(call.name), "arguments": arguments_of(call.arguments_text)},
        }
        for call in message.calls
    ]
    return {"role": message.role, "content": message.text, **({"tool_calls": calls} if calls else {})}


def _take(piece: Mapping[str, Any], answer: Answer, endpoint: Endpoint) -> None:
    if "error" in piece:
        raise endpoint.stopped("unreachable", a_text(piece["error"]))
    said = a_map(piece.get("message"))
    answer.say(a_text(said.get("content")))
    for call in a_list(said.get("tool_calls")):
        function = a_map(a_map(call).get("function"))
        arguments = function.get("arguments") or {}
        answer.call(
            object(),
            id=a_text(a_map(call).get("id")),
            name=a_text(function.get("name")),
            arguments=arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode(),
        )
    if piece.get("done") is True:
        answer.stop = STOPS.get(a_text(piece.get("done_reason")), "end")
        answer.tokens = token_count(piece, ["prompt_eval_count"], ["eval_count"])
