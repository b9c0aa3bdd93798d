"""A conversation in the shape of Gemini's contents: user and model in turn, parts inside."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

from onetool.domain.chat import Message, ToolCallRequest

from .turns import ASSISTANT, in_turns
from .wire import Wire, arguments_of

SEAL = "gemini:"


def make_contents(messages: Sequence[Message], wire: Wire) -> list[dict[str, Any]]:
    """Return the conversation without what the system says."""
    turns = in_turns(messages, lambda message: _parts(message, wire))
    return [{"role": "model" if side == ASSISTANT else side, "parts": parts} for side, parts in turns]


def make_tools(wire: Wire) -> list[dict[str, Any]]:
    """Return what is offered as one tool: of several the model sees one function only."""
    declarations = [
        declaration for tool in wire.definitions("gemini") for declaration in tool["functionDeclarations"]
    ]
    return (
        [{"function_declarations": [_without_nothing(one) for one in declarations]}] if declarations else []
    )


def seal_of(signature: bytes | None) -> str:
    """Keep a signature as text."""
    return SEAL + b64encode(signature).decode() if signature else ""


def _without_nothing(declaration: dict[str, Any]) -> dict[str, Any]:
    """Parameters that are none may not be told of."""
    if declaration["parameters"].get("properties"):
        return declaration
    return {key: value for key, value in declaration.items() if key != "parameters"}


def _parts(message: Message, wire: Wire) -> list[dict[str, Any]]:
    if message.role == "tool":
        told = {"error" if message.failed else "output": message.text}
        return [
            {"function_response": {"id": message.call_id, "name": wire.to(message.name), "response": told}}
        ]
    text = [{"text": message.text}] if message.text else []
    return [*text, *(_call(call, wire) for call in message.calls)]


def _call(call: ToolCallRequest, wire: Wire) -> dict[str, Any]:
    asked = {"id": call.id, "name": wire.to(call.name), "args": arguments_of(call.arguments_text)}
    if not call.seal.startswith(SEAL):
        return {"function_call": asked}
    return {"function_call": asked, "thought_signature": b64decode(call.seal.removeprefix(SEAL))}
