"""The Google Gemini API."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from onetool.domain.chat.messages import ChatModelError, Message, Stop, TokenCount
from onetool.domain.chat.providers import PROVIDERS
from onetool.network.backoff import parse_seconds

from .coerce import as_dict, as_list, as_str
from .endpoint import Endpoint
from .gemini_contents import make_contents, make_tools, signature_of
from .lazy_client import import_optional, make_http_client
from .remote_model import RemoteChatModel
from .response_builder import ResponseBuilder
from .roles import system_text
from .tool_names import ToolNameCodec, sendable

if TYPE_CHECKING:
    import httpx2
    from google import genai
    from google.genai import types

PUBLIC_URL = PROVIDERS["gemini"].base_url
API_VERSION = "v1beta"
"""The only version with previews and with names such as gemini-flash-latest."""
SDK, EXTRA = "google.genai", "gemini"
STOPS: Mapping[str, Stop] = {"STOP": "end", "MAX_TOKENS": "length", "OTHER": "end"}
MALFORMED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})
"""The model wrote a call that the service cannot parse. All other unknown reasons concern safety."""


class GeminiChat(RemoteChatModel["tuple[genai.Client, httpx2.AsyncClient]"]):
    """A model behind the Gemini API. Only models since Gemini 3 accept images in the result of a tool."""

    supported_image_types = frozenset({"image/png", "image/jpeg", "image/webp"})

    async def _close(self, client: "tuple[genai.Client, httpx2.AsyncClient]") -> None:
        sdk, http = client
        sdk.close()
        await http.aclose()  # the SDK does not close a client that it was given

    def _create_client(self) -> "tuple[genai.Client, httpx2.AsyncClient]":
        sdk = import_optional(SDK, EXTRA)
        key, http = self._endpoint.key_to_send(PUBLIC_URL), make_http_client()
        options = sdk.types.HttpOptions(
            base_url=self._endpoint.base_url, api_version=API_VERSION, httpx_async_client=http
        )
        return sdk.Client(api_key=key, vertexai=False, http_options=options), http

    def _request(self, messages: Sequence[Message], codec: ToolNameCodec) -> dict[str, Any]:
        system, tools = system_text(messages), make_tools(codec)
        config = {
            "automatic_function_calling": {"disable": True},
            **({"system_instruction": system} if system else {}),
            **({"tools": tools} if tools else {}),
        }
        return {
            "model": self.model,
            "contents": sendable(make_contents(messages, codec)),
            "config": sendable(config),
        }

    async def _attempt(self, request: Mapping[str, Any], builder: ResponseBuilder) -> None:
        async with aclosing(self._chunks(request, builder)) as chunks:
            async for chunk in chunks:
                _add_chunk(chunk, builder, self._endpoint)

    async def _chunks(
        self, request: Mapping[str, Any], builder: ResponseBuilder
    ) -> AsyncGenerator["types.GenerateContentResponse"]:
        client, _ = await self._client.get()
        with _map_errors(self._endpoint):
            async with aclosing(await self._open_stream(client, request)) as stream:
                async for chunk in stream:
                    builder.has_started = True
                    yield chunk

    async def _open_stream(self, client: "genai.Client", request: Mapping[str, Any]) -> Any:
        try:
            return await client.aio.models.generate_content_stream(**request)
        except ValueError as error:  # the SDK validates a request before it sends it
            raise self._endpoint.unsendable(str(error)) from None


@contextmanager
def _map_errors(endpoint: Endpoint) -> Iterator[None]:
    """Map errors of the SDK to ChatModelError. It raises built-in exceptions for unexpected data."""
    import httpx2

    errors = import_optional(f"{SDK}.errors", EXTRA)
    try:
        yield
        return
    except httpx2.HTTPError:
        mapped = endpoint.unreachable()
    except errors.APIError as error:
        mapped = _rejected(endpoint, error)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError):
        mapped = endpoint.malformed("unexpected data")
    raise mapped from None


def _rejected(endpoint: Endpoint, error: Any) -> ChatModelError:
    details = as_dict(as_dict(error.details).get("error", error.details))
    infos = [as_dict(info) for info in as_list(details.get("details"))]
    status = error.code if isinstance(error.code, int) else 500
    if any(info.get("reason") == "API_KEY_INVALID" for info in infos):
        status = 401
    headers = getattr(error.response, "headers", None) or {}
    mapped = endpoint.rejected(status, as_str(error.message), headers)
    delays = [parse_seconds(as_str(info.get("retryDelay"))) for info in infos if "retryDelay" in info]
    mapped.retry_after = mapped.retry_after if mapped.retry_after is not None else next(iter(delays), None)
    return mapped


def _add_chunk(chunk: "types.GenerateContentResponse", builder: ResponseBuilder, endpoint: Endpoint) -> None:
    if chunk.usage_metadata is not None:
        builder.tokens = _tokens(chunk.usage_metadata) or builder.tokens
    if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
        builder.stop = "refused"
    for candidate in (chunk.candidates or [])[:1]:
        for part in (candidate.content and candidate.content.parts) or []:
            _add_part(part, builder)
        reason = candidate.finish_reason.value if candidate.finish_reason else ""
        if reason in MALFORMED:
            raise endpoint.malformed(f"a malformed tool call ({reason})")
        if reason:
            builder.stop = STOPS.get(reason, "refused")


def _add_part(part: "types.Part", builder: ResponseBuilder) -> None:
    """Add a part. Calls arrive complete, and thoughts are not shown."""
    if part.function_call is not None:
        call = part.function_call
        builder.add_call(
            object(),
            id=call.id or "",
            name=call.name or "",
            arguments=orjson.dumps(call.args or {}).decode(),
            signature=signature_of(part.thought_signature),
        )
    elif part.text and not part.thought:
        builder.add_text(part.text)


def _tokens(usage: Any) -> TokenCount | None:
    """Return the token count. An empty response has no count of candidates."""
    if usage.prompt_token_count is None:
        return None
    return TokenCount(
        input=usage.prompt_token_count + (usage.tool_use_prompt_token_count or 0),
        output=(usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
    )
