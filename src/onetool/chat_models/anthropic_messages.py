"""A conversation in the shape of Anthropic's messages: user and assistant in turn, blocks inside."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from onetool.domain.chat import Message, ToolCallRequest

from .reading import a_list, a_map, a_text
from .turns import in_turns
from .wire import Wire, arguments_of

SEAL = "anthropic:"
THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def make_messages(messages: Sequence[Message], wire: Wire) -> list[dict[str, Any]]:
    """Return the rest of the conversation."""
    turns = in_turns(messages, lambda message: _blocks(message, wire))
    return [{"role": role, "content": blocks} for role, blocks in turns]


def forbidden_tools(messages: Sequence[Message], wire: Wire) -> dict[str, Any]:
    """Tell of the tools of earlier calls in a turn without tools: otherwise the calls are refused."""
    names = dict.fromkeys(call.name for message in messages for call in message.calls)
    tools = [{"name": wire.to(name), "description": "", "input_schema": {"type": "object"}} for name in names]
    return {"tools": tools, "tool_choice": {"type": "none"}} if tools else {}


def _blocks(message: Message, wire: Wire) -> list[dict[str, Any]]:
    """What a message holds; an empty text may not be sent."""
    if message.role == "tool":
        failed = {"is_error": True} if message.failed else {}
        return [{"type": "tool_result", "tool_use_id": message.call_id, "content": message.text, **failed}]
    thoughts = [block for call in message.calls for block in _opened(call)]
    text = [{"type": "text", "text": message.text}] if message.text.strip() else []
    calls = [
        {
            "type": "tool_use",
            "id": call.id,
            "name": wire.to(call.name),
            "input": arguments_of(call.arguments_text),
        }
        for call in message.calls
    ]
    return [*thoughts, *text, *calls]


def _opened(call: ToolCallRequest) -> list[Any]:
    if not call.seal.startswith(SEAL):
        return []
    return list(a_list(orjson.loads(call.seal.removeprefix(SEAL))))


class Thoughts:
    """What the model thought before a call: not for people, but it wants it back with the call."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []

    def begin(self, block: Mapping[str, Any]) -> None:
        """Take the start of a block."""
        if block.get("type") in THOUGHTS:
            self._blocks.append(dict(block))

    def go_on(self, delta: Mapping[str, Any]) -> None:
        """Take a piece of the block that was begun last."""
        for part in ("thinking", "signature"):
            if delta.get("type") == f"{part}_delta" and self._blocks:
                block = self._blocks[-1]
                block[part] = a_text(block.get(part)) + a_text(a_map(delta).get(part))

    def seal(self) -> str:
        """Hand over what was thought since the last call."""
        blocks, self._blocks = self._blocks, []
        return SEAL + orjson.dumps(blocks).decode() if blocks else ""
