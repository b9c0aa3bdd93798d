"""Tool names and arguments as they travel: the only place where a name is changed, and changed back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from onetool.domain.chat import Message, Offer
from onetool.domain.provider_formats import FORMATS
from onetool.domain.tool import ToolSpec
from onetool.domain.wire_names import names_by_wire, wire_names

CHOICES = frozenset({"oneOf", "anyOf", "allOf", "not", "enum", "const"})


class Wire:
    """The names of one request: those offered, and those that earlier calls in the conversation had."""

    def __init__(self, messages: Sequence[Message], offers: Sequence[Offer]) -> None:
        self._wires = wire_names([*(offer.name for offer in offers), *_spoken_of(messages)])
        self._names = names_by_wire(self._wires)
        self._offers = {offer.name: offer for offer in offers}.values()  # the same tool twice is refused

    def to(self, name: str) -> str:
        """Return a tool's name as the provider takes it."""
        return self._wires[name]

    def back(self, wire: str) -> str:
        """Return the tool's name for what the model wrote; a name that nobody told it stays as it is."""
        return self._names.get(wire, wire)

    def definitions(self, provider: str) -> list[dict[str, Any]]:
        """Return what is offered, in a provider's format."""
        make = FORMATS[provider]
        return [make(self.to(offer.name), _spec(offer, provider)) for offer in self._offers]


def arguments_of(text: str) -> dict[str, Any]:
    """Return the arguments that a model wrote, as a provider wants to see them again; rubbish as none."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def is_complete(text: str) -> bool:
    """Whether arguments are an object that was written to its end."""
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def sendable(value: Any) -> Any:
    """Return a JSON value without halves of characters: tools return them, and nobody can send them."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {sendable(key): sendable(item) for key, item in value.items()}
    return [sendable(item) for item in value] if isinstance(value, list | tuple) else value


def _spoken_of(messages: Iterable[Message]) -> Iterable[str]:
    for message in messages:
        yield from (call.name for call in message.calls)
        if message.role == "tool":
            yield message.name


def _spec(offer: Offer, provider: str) -> ToolSpec:
    schema = offer.schema if provider == "gemini" else _plain(offer.schema)  # its format folds them itself
    return ToolSpec(name=offer.name, description=offer.description, input_schema=schema)


def _plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A choice at the top of one schema has the whole request refused; calls are checked here anyway."""
    kept = {key: value for key, value in schema.items() if key not in CHOICES}
    return {"properties": {}, **kept, "type": "object"}
