"""OpenAI's chat completions as they are on the wire."""

import re
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter

from chat_models.loopback import KEY, MODEL, ProviderServer, Request, Said, need, only, sse

PUBLISHED = TypeAdapter(CompletionCreateParamsStreaming)
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
REASONS = {"end": "stop", "calls": "tool_calls", "length": "length", "refused": "content_filter"}
ERRORS = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


class OpenAIServer(ProviderServer):
    path = "/v1/chat/completions"

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def is_key(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {KEY}"

    def check(self, request: Request) -> None:
        body = only(request.body, required="model messages stream stream_options", optional="tools")
        PUBLISHED.validate_python(body)
        need(body["model"] == MODEL, f"The model `{body['model']}` does not exist")
        need(body["stream"] is True, "stream must be true here")
        only(body["stream_options"], required="include_usage")
        need(body["messages"], "[] is too short - 'messages'")
        need(body.get("tools") != [], "[] is too short - 'tools'")
        for tool in body.get("tools", []):
            function = only(tool, required="type function")["function"]
            only(function, required="name description parameters")
            need(NAME.fullmatch(function["name"]), f"Invalid 'tools[0].function.name': {function['name']}")
        self._check_messages(body["messages"])

    def _check_messages(self, messages: list[dict[str, Any]]) -> None:
        waiting: list[str] = []
        for message in messages:
            if message.get("role") == "tool":
                only(message, required="role content tool_call_id")
                need(
                    message["tool_call_id"] in waiting,
                    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
                )
                waiting.remove(message["tool_call_id"])
                continue
            need(
                not waiting,
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {waiting}",
            )
            if message.get("role") != "assistant":
                only(message, required="role content")
                continue
            only(message, required="role", optional="content tool_calls")
            need("content" in message or "tool_calls" in message, "content is required")
            for call in message.get("tool_calls", []):
                function = only(call, required="id type function")["function"]
                only(function, required="name arguments")
                need(NAME.fullmatch(function["name"]), f"Invalid function.name: {function['name']}")
                need(isinstance(function["arguments"], str), "arguments must be a string")
                waiting.append(call["id"])

    def frames(self, said: Said) -> list[bytes]:
        frames = [_delta({"role": "assistant", "content": "", "refusal": None})]
        frames += [_delta({"content": text}) for text in said.text]
        for index, call in enumerate(said.calls):
            named = {"name": call.name, "arguments": ""}
            frames.append(_call({"index": index, "id": call.id, "type": "function", "function": named}))
            frames += [_call({"index": index, "function": {"arguments": piece}}) for piece in call.pieces]
        frames.append(_delta({}, REASONS[said.stop]))
        if said.usage:
            given, made = said.usage
            usage = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
            frames.append(_chunk([], usage))
        return [*frames, sse("[DONE]")]

    def error(self, status: int, said: str) -> Any:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": said, "type": kind, "param": None, "code": ERRORS.get(status)}}


def _call(call: dict[str, Any]) -> bytes:
    return _delta({"tool_calls": [call]})


def _delta(delta: dict[str, Any], reason: str | None = None) -> bytes:
    return _chunk([{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}], None)


def _chunk(choices: list[Any], usage: Any) -> bytes:
    return sse(
        {
            "id": "chatcmpl-123",
            "object": "chat.completion.chunk",
            "created": 1794700000,
            "model": MODEL,
            "service_tier": "default",
            "system_fingerprint": "fp_44709d6fcb",
            "choices": choices,
            "usage": usage,
        }
    )
