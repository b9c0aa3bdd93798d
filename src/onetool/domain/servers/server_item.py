"""A resource, a resource template or a prompt as its MCP server defines it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from .server_tool import definition_pin, definition_texts

ItemKind = Literal["resource", "template", "prompt"]
KEYS: Mapping[ItemKind, str] = {"resource": "uri", "template": "uriTemplate", "prompt": "name"}
"""The field that identifies an item of each kind."""
OF_THE_CONTENT = ("size", "annotations")
"""Fields of a resource that change with its content; its hash does not cover them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerItem:
    """A resource, a template or a prompt as defined by the server."""

    kind: ItemKind
    definition: Mapping[str, Any]
    """Every field as the server sent it, also those that are unknown here."""
    key: str = field(init=False)
    """What identifies it on the server: the URI, the URI template or the name."""
    pin: str = field(init=False, repr=False)
    """Hash of the definition."""

    def __post_init__(self) -> None:
        key = self.definition[KEYS[self.kind]]
        if not isinstance(key, str):
            raise TypeError(f"the {KEYS[self.kind]} of a {self.kind} is a text")
        object.__setattr__(self, "key", key)
        omitted = OF_THE_CONTENT if self.kind == "resource" else ()
        covered = {name: value for name, value in self.definition.items() if name not in omitted}
        object.__setattr__(self, "pin", definition_pin(covered))

    @property
    def label(self) -> str:
        """What it is called in a review, such as `prompt greet`."""
        return f"{self.kind} {self.key}"

    def texts(self) -> Iterator[str]:
        """Yield every string that a model may read."""
        yield from definition_texts(self.definition)


class ListedItem(NamedTuple):
    """An item of a server's listing."""

    item: ServerItem
    name: str
    """The Python name; empty if it has none."""
    reason: str
    """Why it is quarantined; empty if it is not."""
