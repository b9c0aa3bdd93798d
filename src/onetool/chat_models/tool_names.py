"""Encoding of tool names, arguments and definitions for providers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from onetool.domain.chat.messages import Message, ToolDefinition
from onetool.domain.tools.provider_formats import FORMATS
from onetool.domain.tools.tool import ToolSpec
from onetool.domain.tools.wire_names import names_by_wire, wire_names

COMBINATORS = frozenset({"oneOf", "anyOf", "allOf", "not", "enum", "const"})


class ToolNameCodec:
    """Maps tool names to wire names and back, for the tools of a request and those of earlier calls."""

    def __init__(self, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> None:
        self._wire_names = wire_names([*(tool.name for tool in tools), *_mentioned_tools(messages)])
        self._names = names_by_wire(self._wire_names)
        self._tools = {tool.name: tool for tool in tools}.values()  # providers reject duplicates

    def encode(self, name: str) -> str:
        """Return the wire name of a tool."""
        return self._wire_names[name]

    def decode(self, wire_name: str) -> str:
        """Return the name of a tool from its wire name. A name that the model invented is unchanged."""
        return self._names.get(wire_name, wire_name)

    def definitions(self, provider: str) -> list[dict[str, Any]]:
        """Return the tools in the format of a provider."""
        to_format = FORMATS[provider]
        return [to_format(self.encode(tool.name), _spec(tool, provider)) for tool in self._tools]


def parse_arguments(text: str) -> dict[str, Any]:
    """Parse the arguments of an earlier call. Invalid ones become an empty object."""
    try:
        arguments = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def is_complete(text: str) -> bool:
    """Return whether arguments are a complete JSON object."""
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def sendable(value: Any) -> Any:
    """Return a JSON value without lone surrogates, which tools may return but no provider accepts."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {sendable(key): sendable(item) for key, item in value.items()}
    return [sendable(item) for item in value] if isinstance(value, list | tuple) else value


def _mentioned_tools(messages: Iterable[Message]) -> Iterable[str]:
    for message in messages:
        yield from (call.name for call in message.calls)
        if message.role == "tool":
            yield message.name


def _spec(tool: ToolDefinition, provider: str) -> ToolSpec:
    # The Gemini format simplifies schemas itself.
    schema = tool.schema if provider == "gemini" else _without_combinators(tool.schema)
    return ToolSpec(name=tool.name, description=tool.description, input_schema=schema)


def _without_combinators(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Remove top-level combinators, because providers reject the whole request for one of them.

    The pipeline validates arguments against the full schema anyway.
    """
    supported = {key: value for key, value in schema.items() if key not in COMBINATORS}
    return {"properties": {}, **supported, "type": "object"}
