"""A fake server of the Anthropic messages API."""

import json
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
    "image": "type source",
    "tool_use": "type id name input",
    "tool_result": "type tool_use_id content",
    "thinking": "type thinking signature",
    "redacted_thinking": "type data",
}
ASSISTANT_BLOCKS = {"text", "tool_use", "thinking", "redacted_thinking"}


@cache
def request_schema() -> TypeAdapter[Any]:
    """Return the schema of the SDK, which takes a second to import."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return TypeAdapter(MessageCreateParamsStreaming)


class AnthropicServer(ProviderServer):
    path = "/v1/messages"
    partial_frames = 4

    def is_authorized(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {KEY}"

    def check(self, request: Request) -> None:
        require("anthropic-version" in request.headers, "anthropic-version: header is required")
        body = check_keys(
            request.body, required="model max_tokens messages stream", optional="system tools tool_choice"
        )
        request_schema().validate_python(body)
        require(body["model"] == MODEL, f"model: {body['model']}")
        require(body["stream"] is True, "stream: must be true here")
        require(body["messages"], "messages: at least one message is required")
        require(body.get("system") != "", "system: text content blocks must be non-empty")
        for tool in body.get("tools", []):
            check_keys(tool, required="name description input_schema")
            require(NAME.fullmatch(tool["name"]), f"tools.0.custom.name: {tool['name']}")
            require(tool["input_schema"].get("type") == "object", "input_schema.type: Field required")
            choices = {"oneOf", "allOf", "anyOf"} & set(tool["input_schema"])
            require(not choices, f"input_schema does not support {choices} at the top level")
        self._check_messages(body["messages"], {tool["name"] for tool in body.get("tools", [])})

    def _check_messages(self, messages: list[dict[str, Any]], tools: set[str]) -> None:
        pending: list[str] = []
        before = ""
        for message in messages:
            check_keys(message, required="role content")
            require(message["role"] in ("user", "assistant"), "messages: Unexpected role")
            require(message["role"] != before, "messages: roles must alternate")
            require(message["content"], "messages: content must not be empty")
            before = message["role"]
            results = [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]
            require(
                sorted(results) == sorted(pending),
                f"`tool_use` ids were found without `tool_result` blocks immediately after: {pending}",
            )
            first = [block["type"] for block in message["content"][: len(results)]]
            require(first == ["tool_result"] * len(results), "tool_result blocks must come first")
            pending = [self._check_block(block, before, tools) for block in message["content"]]
            pending = [id for id in pending if id]
        require(not pending, "`tool_use` ids were found without `tool_result` blocks at the end")

    def _check_block(self, block: dict[str, Any], role: str, tools: set[str]) -> str:
        check_keys(
            block,
            required=BLOCKS[block["type"]],
            optional="is_error" if block["type"] == "tool_result" else "",
        )
        require((block["type"] in ASSISTANT_BLOCKS) or role == "user", f"{block['type']} is not for {role}")
        require(block.get("text", "x").strip(), "messages: text content blocks must be non-empty")
        if block["type"] == "tool_result":
            self._check_result(block)
        if block["type"] in ("tool_use", "tool_result"):
            require(tools, "Requests which include `tool_use` or `tool_result` blocks must define tools")
        if block["type"] != "tool_use":
            return ""
        require(ID.fullmatch(block["id"]), "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        require(isinstance(block["input"], dict), "tool_use.input: Input should be a valid dictionary")
        return str(block["id"])

    def _check_result(self, block: dict[str, Any]) -> None:
        inner = [] if isinstance(block["content"], str) else block["content"]
        for item in inner:
            require(item.get("text", "x").strip(), "tool_result: text content blocks must be non-empty")
            is_text = item["type"] == "text"
            require(
                is_text or not block.get("is_error"), 'all content must be type "text" if "is_error" is true'
            )

    def frames(self, turn: TextTurn) -> list[bytes]:
        input_tokens, output_tokens = turn.usage or (None, None)
        usage = (
            {"input_tokens": input_tokens, "cache_read_input_tokens": 0, "output_tokens": 1}
            if turn.usage
            else {}
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
        if turn.text:
            deltas = [{"type": "text_delta", "text": text} for text in turn.text]
            blocks.append(({"type": "text", "text": ""}, deltas))
        for call in turn.calls:
            start = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            fragments = ["", *call.fragments]
            blocks.append(
                (start, [{"type": "input_json_delta", "partial_json": fragment} for fragment in fragments])
            )
        for index, (start, deltas) in enumerate(blocks):
            frames += block(index, start, deltas)
        delta = {"stop_reason": REASONS[turn.stop], "stop_sequence": None}
        frames.append(
            event("message_delta", delta=delta, usage={"output_tokens": output_tokens} if turn.usage else {})
        )
        return [*frames, event("message_stop")]

    def error(self, status: int, message: str) -> Any:
        kind = ERRORS.get(status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def block(index: int, start: dict[str, Any], deltas: list[dict[str, Any]]) -> list[bytes]:
    """Return the events of one block."""
    return [
        event("content_block_start", index=index, content_block=start),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def event(kind: str, **members: Any) -> bytes:
    return sse(json.dumps({"type": kind, **members}, ensure_ascii=False), kind)
