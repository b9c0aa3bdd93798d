"""A tool as its MCP server defines it, and the hash that pins the definition."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from onetool.domain.tools.tool import JsonSchema

PIN_PREFIX = "2:"
"""Marks hashes of whole definitions. Older hashes cover five fields and have no prefix."""
OLD_ANNOTATIONS = ("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
APPS = "io.modelcontextprotocol/ui"
"""The extension that clients declare if they can show apps."""
NOT_READ = ("name", "icons")
"""Fields that contain no text for a model: the name is normalized, and icons are images."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A tool as defined by the server."""

    definition: Mapping[str, Any]
    """Every field as the server sent it, also those that are unknown here."""
    name: str = field(init=False)
    pin: str = field(init=False, repr=False)
    """Hash of the definition."""

    def __post_init__(self) -> None:
        if not isinstance(self.definition["name"], str) or not isinstance(self.input_schema, Mapping):
            raise TypeError("a definition needs a name and an input schema")
        object.__setattr__(self, "name", self.definition["name"])
        object.__setattr__(self, "pin", definition_pin(self.definition))

    @property
    def title(self) -> str:
        """The name for people; empty if it has none."""
        return self.definition.get("title") or ""

    @property
    def description(self) -> str:
        """What the tool does; empty if the server does not say."""
        return self.definition.get("description") or ""

    @property
    def input_schema(self) -> JsonSchema:
        """The schema of the arguments."""
        schema: JsonSchema = self.definition["inputSchema"]
        return schema

    @property
    def output_schema(self) -> JsonSchema | None:
        """The schema of structured results, if the server declares one."""
        return self.definition.get("outputSchema")

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The hints of the server."""
        return self.definition.get("annotations") or {}

    @property
    def claims_read_only(self) -> bool:
        """Whether the server declares the tool as read-only. Nothing proves that it is."""
        return self.annotations.get("readOnlyHint") is True and not self.annotations.get("destructiveHint")

    @property
    def is_app_only(self) -> bool:
        """Whether only the app of the server calls it, and no model."""
        return self._app.get("visibility") == ["app"]

    @property
    def has_app(self) -> bool:
        """Whether the server has an app that shows the results, for clients that can display it."""
        return isinstance(self._app.get("resourceUri"), str)

    @property
    def _app(self) -> Mapping[str, Any]:
        meta = self.definition.get("_meta")
        app = meta.get("ui") if isinstance(meta, Mapping) else None
        return app if isinstance(app, Mapping) else {}

    @property
    def old_pin(self) -> str:
        """The hash that earlier versions pinned: of five fields, with the annotations that they knew."""
        hints = {name: self.annotations[name] for name in OLD_ANNOTATIONS if name in self.annotations}
        covered = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": {name: hint for name, hint in hints.items() if hint is not None},
        }
        return _digest(covered)

    def has_pin(self, pin: str) -> bool:
        """Whether a stored hash is that of this definition, or an older hash that covers less of it."""
        return pin == self.pin or (not pin.startswith(PIN_PREFIX) and pin == self.old_pin)

    def texts(self) -> Iterator[str]:
        """Yield every string that a model may read."""
        yield from definition_texts(self.definition)

    @classmethod
    def from_old_json(cls, data: Mapping[str, Any]) -> "ServerTool":
        """Read a definition that an earlier version stored, with empty values for missing fields.

        Raises:
            KeyError: A field is missing.
            TypeError: A field has the wrong type.
        """
        required = {"name": data["name"], "inputSchema": data["inputSchema"]}
        optional = ("description", "outputSchema", "annotations")
        return cls(definition=required | {key: data[key] for key in optional if data[key]})


def definition_pin(definition: Mapping[str, Any]) -> str:
    """Return the hash of a definition."""
    return PIN_PREFIX + _digest(definition)


def definition_texts(definition: Mapping[str, Any]) -> Iterator[str]:
    """Yield every string of a definition that a model may read."""
    yield from _strings([value for key, value in definition.items() if key not in NOT_READ])


def _digest(value: Mapping[str, Any]) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
