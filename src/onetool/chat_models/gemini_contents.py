"""Conversion of a conversation to Gemini's contents: alternating user and model turns with parts."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

from onetool.domain.chat.messages import Message, ToolCallRequest

from .roles import ASSISTANT, merge_roles
from .tool_names import ToolNameCodec, parse_arguments

SIGNATURE_PREFIX = "gemini:"


def make_contents(messages: Sequence[Message], codec: ToolNameCodec) -> list[dict[str, Any]]:
    """Return the conversation without the system messages."""
    turns = merge_roles(messages, lambda message: _parts(message, codec))
    return [{"role": "model" if role == ASSISTANT else role, "parts": parts} for role, parts in turns]


def make_tools(codec: ToolNameCodec) -> list[dict[str, Any]]:
    """Return all functions in a single tool, because the model sees only one of several tools."""
    declarations = [
        declaration for tool in codec.definitions("gemini") for declaration in tool["functionDeclarations"]
    ]
    if not declarations:
        return []
    return [{"function_declarations": [_omit_empty_parameters(item) for item in declarations]}]


def signature_of(signature: bytes | None) -> str:
    """Encode a thought signature as text."""
    return SIGNATURE_PREFIX + b64encode(signature).decode() if signature else ""


def _omit_empty_parameters(declaration: dict[str, Any]) -> dict[str, Any]:
    """Remove empty parameters, which Gemini rejects."""
    if declaration["parameters"].get("properties"):
        return declaration
    return {key: value for key, value in declaration.items() if key != "parameters"}


def _parts(message: Message, codec: ToolNameCodec) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [{"function_response": _function_response(message, codec)}]
    text = [{"text": message.text}] if message.text else []
    return [*_images(message), *text, *(_call(call, codec) for call in message.calls)]


def _function_response(message: Message, codec: ToolNameCodec) -> dict[str, Any]:
    response = {"error" if message.failed else "output": message.text}
    images = _images(message)
    fields = {"id": message.call_id, "name": codec.encode(message.name), "response": response}
    return fields | ({"parts": images} if images else {})


def _images(message: Message) -> list[dict[str, Any]]:
    return [
        {"inline_data": {"mime_type": image.mime_type, "data": image.to_bytes()}} for image in message.images
    ]


def _call(call: ToolCallRequest, codec: ToolNameCodec) -> dict[str, Any]:
    function_call = {
        "id": call.id,
        "name": codec.encode(call.name),
        "args": parse_arguments(call.arguments_text),
    }
    if not call.signature.startswith(SIGNATURE_PREFIX):
        return {"function_call": function_call}
    signature = b64decode(call.signature.removeprefix(SIGNATURE_PREFIX))
    return {"function_call": function_call, "thought_signature": signature}
