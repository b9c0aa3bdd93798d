"""A fake server of the OpenAI chat completions API."""

import re
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from chat_models.provider_server import (
    KEY,
    MODEL,
    ProviderServer,
    Request,
    TextTurn,
    check_keys,
    require,
    sse,
)

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
REASONS = {"end": "stop", "calls": "tool_calls", "length": "length", "refused": "content_filter"}
ERRORS = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


@cache
def request_schema() -> TypeAdapter[Any]:
    """Return the schema of the SDK, which takes a second to import."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

    return TypeAdapter(CompletionCreateParamsStreaming)


class OpenAIServer(ProviderServer):
    path = "/v1/chat/completions"

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    def is_authorized(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {KEY}"

    def check(self, request: Request) -> None:
        body = check_keys(request.body, required="model messages stream stream_options", optional="tools")
        request_schema().validate_python(body)
        require(body["model"] == MODEL, f"The model `{body['model']}` does not exist")
        require(body["stream"] is True, "stream must be true here")
        check_keys(body["stream_options"], required="include_usage")
        require(body["messages"], "[] is too short - 'messages'")
        require(body.get("tools") != [], "[] is too short - 'tools'")
        for tool in body.get("tools", []):
            function = check_keys(tool, required="type function")["function"]
            check_keys(function, required="name description parameters")
            require(NAME.fullmatch(function["name"]), f"Invalid 'tools[0].function.name': {function['name']}")
        self._check_messages(body["messages"])

    def _check_messages(self, messages: list[dict[str, Any]]) -> None:
        pending: list[str] = []
        for message in messages:
            if message.get("role") == "tool":
                check_keys(message, required="role content tool_call_id")
                require(
                    message["tool_call_id"] in pending,
                    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
                )
                pending.remove(message["tool_call_id"])
                continue
            require(
                not pending,
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {pending}",
            )
            if message.get("role") != "assistant":
                check_keys(message, required="role content")
                continue
            check_keys(message, required="role", optional="content tool_calls")
            require("content" in message or "tool_calls" in message, "content is required")
            for call in message.get("tool_calls", []):
                function = check_keys(call, required="id type function")["function"]
                check_keys(function, required="name arguments")
                require(NAME.fullmatch(function["name"]), f"Invalid function.name: {function['name']}")
                require(isinstance(function["arguments"], str), "arguments must be a string")
                pending.append(call["id"])

    def frames(self, turn: TextTurn) -> list[bytes]:
        frames = [_delta({"role": "assistant", "content": "", "refusal": None})]
        frames += [_delta({"content": text}) for text in turn.text]
        for index, call in enumerate(turn.calls):
            function = {"name": call.name, "arguments": ""}
            frames.append(_call({"index": index, "id": call.id, "type": "function", "function": function}))
            frames += [
                _call({"index": index, "function": {"arguments": fragment}}) for fragment in call.fragments
            ]
        frames.append(_delta({}, REASONS[turn.stop]))
        if turn.usage:
            prompt, completion = turn.usage
            usage = {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            }
            frames.append(_chunk([], usage))
        return [*frames, sse("[DONE]")]

    def error(self, status: int, message: str) -> Any:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": ERRORS.get(status)}}


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
