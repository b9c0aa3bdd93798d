"""Anthropic's messages as they are on the wire."""

import json
import re
from typing import Any

from anthropic.types.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter

from chat_models.loopback import KEY, MODEL, ProviderServer, Request, Said, need, only, sse

PUBLISHED = TypeAdapter(MessageCreateParamsStreaming)
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
ID = re.compile(r"[a-zA-Z0-9_-]+")
REASONS = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "refused": "refusal"}
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
BLOCKS = {
    "text": "type text",
    "tool_use": "type id name input",
    "tool_result": "type tool_use_id content",
    "thinking": "type thinking signature",
    "redacted_thinking": "type data",
}
OF_ASSISTANT = {"text", "tool_use", "thinking", "redacted_thinking"}


class AnthropicServer(ProviderServer):
    path = "/v1/messages"
    half = 4

    def is_key(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {KEY}"

    def check(self, request: Request) -> None:
        need("anthropic-version" in request.headers, "anthropic-version: header is required")
        body = only(
            request.body, required="model max_tokens messages stream", optional="system tools tool_choice"
        )
        PUBLISHED.validate_python(body)
        need(body["model"] == MODEL, f"model: {body['model']}")
        need(body["stream"] is True, "stream: must be true here")
        need(body["messages"], "messages: at least one message is required")
        need(body.get("system") != "", "system: text content blocks must be non-empty")
        for tool in body.get("tools", []):
            only(tool, required="name description input_schema")
            need(NAME.fullmatch(tool["name"]), f"tools.0.custom.name: {tool['name']}")
            need(tool["input_schema"].get("type") == "object", "input_schema.type: Field required")
            choices = {"oneOf", "allOf", "anyOf"} & set(tool["input_schema"])
            need(not choices, f"input_schema does not support {choices} at the top level")
        self._check_messages(body["messages"], {tool["name"] for tool in body.get("tools", [])})

    def _check_messages(self, messages: list[dict[str, Any]], tools: set[str]) -> None:
        waiting: list[str] = []
        before = ""
        for message in messages:
            only(message, required="role content")
            need(message["role"] in ("user", "assistant"), "messages: Unexpected role")
            need(message["role"] != before, "messages: roles must alternate")
            need(message["content"], "messages: content must not be empty")
            before = message["role"]
            answered = [
                block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"
            ]
            need(
                sorted(answered) == sorted(waiting),
                f"`tool_use` ids were found without `tool_result` blocks immediately after: {waiting}",
            )
            first = [block["type"] for block in message["content"][: len(answered)]]
            need(first == ["tool_result"] * len(answered), "tool_result blocks must come first")
            waiting = [self._check_block(block, before, tools) for block in message["content"]]
            waiting = [id for id in waiting if id]
        need(not waiting, "`tool_use` ids were found without `tool_result` blocks at the end")

    def _check_block(self, block: dict[str, Any], role: str, tools: set[str]) -> str:
        only(
            block,
            required=BLOCKS[block["type"]],
            optional="is_error" if block["type"] == "tool_result" else "",
        )
        need((block["type"] in OF_ASSISTANT) or role == "user", f"{block['type']} is not for {role}")
        need(block.get("text", "x").strip(), "messages: text content blocks must be non-empty")
        if block["type"] in ("tool_use", "tool_result"):
            need(tools, "Requests which include `tool_use` or `tool_result` blocks must define tools")
        if block["type"] != "tool_use":
            return ""
        need(ID.fullmatch(block["id"]), "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        need(isinstance(block["input"], dict), "tool_use.input: Input should be a valid dictionary")
        return str(block["id"])

    def frames(self, said: Said) -> list[bytes]:
        given, made = said.usage or (None, None)
        usage = (
            {"input_tokens": given, "cache_read_input_tokens": 0, "output_tokens": 1} if said.usage else {}
        )
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        frames = [event("message_start", message=message), event("ping")]
        blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        if said.text:
            deltas = [{"type": "text_delta", "text": text} for text in said.text]
            blocks.append(({"type": "text", "text": ""}, deltas))
        for call in said.calls:
            start = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            pieces = ["", *call.pieces]
            blocks.append((start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]))
        for index, (start, deltas) in enumerate(blocks):
            frames += block(index, start, deltas)
        delta = {"stop_reason": REASONS[said.stop], "stop_sequence": None}
        frames.append(
            event("message_delta", delta=delta, usage={"output_tokens": made} if said.usage else {})
        )
        return [*frames, event("message_stop")]

    def error(self, status: int, said: str) -> Any:
        kind = ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_1"}


def block(index: int, start: dict[str, Any], deltas: list[dict[str, Any]]) -> list[bytes]:
    """The events of one block."""
    return [
        event("content_block_start", index=index, content_block=start),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def event(kind: str, **members: Any) -> bytes:
    return sse(json.dumps({"type": kind, **members}, ensure_ascii=False), kind)
