"""Google's Gemini API."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from onetool.domain.chat import ChatFailed, Message, Stop, TokenCount
from onetool.domain.providers import PROVIDERS

from .answer import Answer
from .clients import import_extra, make_http_client
from .endpoint import Endpoint
from .gemini_contents import make_contents, make_tools, seal_of
from .reading import a_list, a_map, a_text
from .remote import RemoteChat
from .retry_after import seconds
from .turns import system_text
from .wire import Wire, sendable

if TYPE_CHECKING:
    import httpx2
    from google import genai
    from google.genai import types

PUBLIC = PROVIDERS["gemini"].base_url
VERSION = "v1beta"
"""Previews and names such as gemini-flash-latest are served by no other."""
SDK, EXTRA = "google.genai", "gemini"
STOPS: Mapping[str, Stop] = {"STOP": "end", "MAX_TOKENS": "length", "OTHER": "end"}
UNREADABLE = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})
"""The model wrote a call that its own service cannot read. Every other reason is one of safety."""


class GeminiChat(RemoteChat["tuple[genai.Client, httpx2.AsyncClient]"]):
    """A model behind Google's Gemini API."""

    async def _close(self, client: "tuple[genai.Client, httpx2.AsyncClient]") -> None:
        sdk, http = client
        sdk.close()
        await http.aclose()  # the package leaves to us what it was given

    def _make_client(self) -> "tuple[genai.Client, httpx2.AsyncClient]":
        sdk = import_extra(SDK, EXTRA)
        key, http = self._endpoint.sent_key(PUBLIC), make_http_client()
        options = sdk.types.HttpOptions(
            base_url=self._endpoint.base_url, api_version=VERSION, httpx_async_client=http
        )
        return sdk.Client(api_key=key, vertexai=False, http_options=options), http

    def _request(self, messages: Sequence[Message], wire: Wire) -> dict[str, Any]:
        system, tools = system_text(messages), make_tools(wire)
        config = {
            "automatic_function_calling": {"disable": True},
            **({"system_instruction": system} if system else {}),
            **({"tools": tools} if tools else {}),
        }
        return {
            "model": self.model,
            "contents": sendable(make_contents(messages, wire)),
            "config": sendable(config),
        }

    async def _attempt(self, request: Mapping[str, Any], answer: Answer) -> None:
        async with aclosing(self._pieces(request, answer)) as pieces:
            async for piece in pieces:
                _take(piece, answer, self._endpoint)

    async def _pieces(
        self, request: Mapping[str, Any], answer: Answer
    ) -> AsyncGenerator["types.GenerateContentResponse"]:
        client, _ = await self._client.get()
        with _told_in_our_words(self._endpoint):
            async with aclosing(await self._begin(client, request)) as stream:
                async for piece in stream:
                    answer.begun = True
                    yield piece

    async def _begin(self, client: "genai.Client", request: Mapping[str, Any]) -> Any:
        try:
            return await client.aio.models.generate_content_stream(**request)
        except ValueError as error:  # the package reads what it is to send before it sends it
            raise self._endpoint.unsendable(str(error)) from None


@contextmanager
def _told_in_our_words(endpoint: Endpoint) -> Iterator[None]:
    """Turn the package's errors into ChatFailed; what has another shape than it expects makes it stumble."""
    import httpx2

    errors = import_extra(f"{SDK}.errors", EXTRA)
    try:
        yield
        return
    except httpx2.HTTPError:
        failed = endpoint.unreachable()
    except errors.APIError as error:
        failed = _refused(endpoint, error)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError):
        failed = endpoint.rubbish("a piece that is not of its API")
    raise failed from None


def _refused(endpoint: Endpoint, error: Any) -> ChatFailed:
    details = a_map(a_map(error.details).get("error", error.details))
    infos = [a_map(info) for info in a_list(details.get("details"))]
    status = error.code if isinstance(error.code, int) else 500
    if any(info.get("reason") == "API_KEY_INVALID" for info in infos):
        status = 401
    failed = endpoint.refused(status, a_text(error.message), getattr(error.response, "headers", None) or {})
    waits = [seconds(a_text(info.get("retryDelay"))) for info in infos if "retryDelay" in info]
    failed.retry_after = failed.retry_after if failed.retry_after is not None else next(iter(waits), None)
    return failed


def _take(piece: "types.GenerateContentResponse", answer: Answer, endpoint: Endpoint) -> None:
    if piece.usage_metadata is not None:
        answer.tokens = _tokens(piece.usage_metadata) or answer.tokens
    if piece.prompt_feedback is not None and piece.prompt_feedback.block_reason is not None:
        answer.stop = "refused"
    for candidate in (piece.candidates or [])[:1]:
        for part in (candidate.content and candidate.content.parts) or []:
            _take_part(part, answer)
        reason = candidate.finish_reason.value if candidate.finish_reason else ""
        if reason in UNREADABLE:
            raise endpoint.rubbish(f"a tool call ({reason})")
        if reason:
            answer.stop = STOPS.get(reason, "refused")


def _take_part(part: "types.Part", answer: Answer) -> None:
    """Calls come whole; what the model thinks is not for people."""
    if part.function_call is not None:
        call = part.function_call
        answer.call(
            object(),
            id=call.id or "",
            name=call.name or "",
            arguments=orjson.dumps(call.args or {}).decode(),
            seal=seal_of(part.thought_signature),
        )
    elif part.text and not part.thought:
        answer.say(part.text)


def _tokens(usage: Any) -> TokenCount | None:
    """An answer without a token has no figure of its own."""
    if usage.prompt_token_count is None:
        return None
    return TokenCount(
        input=usage.prompt_token_count + (usage.tool_use_prompt_token_count or 0),
        output=(usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
    )
