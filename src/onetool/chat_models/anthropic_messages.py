"""Conversion of a conversation to Anthropic's messages: alternating user and assistant turns with blocks."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from onetool.domain.chat.messages import Message, ToolCallRequest
from onetool.domain.content.media import Media

from .coerce import as_dict, as_list, as_str
from .images import encode_base64
from .roles import merge_roles
from .tool_names import ToolNameCodec, parse_arguments

SIGNATURE_PREFIX = "anthropic:"
THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})


def make_messages(messages: Sequence[Message], codec: ToolNameCodec) -> list[dict[str, Any]]:
    """Return the conversation without the system messages."""
    turns = merge_roles(messages, lambda message: _blocks(message, codec))
    return [{"role": role, "content": blocks} for role, blocks in turns]


def forbidden_tools(messages: Sequence[Message], codec: ToolNameCodec) -> dict[str, Any]:
    """Define the tools of earlier calls for a turn without tools. The API rejects undefined ones."""
    names = dict.fromkeys(call.name for message in messages for call in message.calls)
    tools = [
        {"name": codec.encode(name), "description": "", "input_schema": {"type": "object"}} for name in names
    ]
    return {"tools": tools, "tool_choice": {"type": "none"}} if tools else {}


def _blocks(message: Message, codec: ToolNameCodec) -> list[dict[str, Any]]:
    """Return the blocks of a message. Empty text blocks are not allowed."""
    if message.role == "tool":
        return [_tool_result(message)]
    thinking = [block for call in message.calls for block in _thinking_blocks(call)]
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    calls = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": codec.encode(call.name),
            "input": parse_arguments(call.arguments_text),
        }
        for call in message.calls
    ]
    return [*map(_image, message.images), *thinking, *text, *calls]


def _tool_result(message: Message) -> dict[str, Any]:
    """Return the result of a call. An image is not allowed in one that is marked as an error."""
    result = {"type": "tool_result", "tool_use_id": message.call_id}
    if not message.images:
        failed = {"is_error": True} if message.failed else {}
        return {**result, "content": message.text, **failed}
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    return {**result, "content": [*text, *map(_image, message.images)]}


def _image(image: Media) -> dict[str, Any]:
    source = {"type": "base64", "media_type": image.mime_type, "data": encode_base64(image)}
    return {"type": "image", "source": source}


def _thinking_blocks(call: ToolCallRequest) -> list[Any]:
    if not call.signature.startswith(SIGNATURE_PREFIX):
        return []
    return list(as_list(orjson.loads(call.signature.removeprefix(SIGNATURE_PREFIX))))


class ThinkingBlocks:
    """The thinking of a model before a call. It is not shown, but must be sent back with the call."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []

    def start(self, block: Mapping[str, Any]) -> None:
        """Add the start of a block."""
        if block.get("type") in THINKING_TYPES:
            self._blocks.append(dict(block))

    def append(self, delta: Mapping[str, Any]) -> None:
        """Append a delta to the last block."""
        for key in ("thinking", "signature"):
            if delta.get("type") == f"{key}_delta" and self._blocks:
                block = self._blocks[-1]
                block[key] = as_str(block.get(key)) + as_str(as_dict(delta).get(key))

    def signature(self) -> str:
        """Return the blocks since the last call as a signature, and start over."""
        blocks, self._blocks = self._blocks, []
        return SIGNATURE_PREFIX + orjson.dumps(blocks).decode() if blocks else ""
