"""Short Python types of JSON Schemas. Servers write schemas, so every text is bounded and escaped."""

from collections.abc import Mapping, Sequence
from typing import Any

from onetool.domain.text.strings import truncate_middle

from .json_schema import resolve_ref
from .tool import JsonSchema

TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
ANY, TEXT = "Any", "str"
MAX_DEPTH = 4
"""Levels of lists, objects and values in one type."""
MAX_NODES = 60
"""Schemas read for one type; the rest is `Any`."""
MAX_FIELDS = 12
MAX_TYPE_LENGTH = 200
MAX_NAME_LENGTH, MAX_VALUE_LENGTH = 60, 100


def type_text(
    schema: Any, root: JsonSchema | None = None, *, max_depth: int = MAX_DEPTH, is_result: bool = False
) -> str:
    """Return the Python type of a schema, with the fields of objects.

    Optional fields have a `?`. A field without a type is a text; only a result itself also names that type.

    >>> type_text({"type": "array", "items": {"properties": {"id": {"type": "integer"}}, "type": "object"}})
    'list[{id?: int}]'

    Args:
        schema: The schema, from an untrusted source.
        root: The document that references refer to.
        max_depth: Maximum number of levels; 1 for a plain `list` or `dict`.
        is_result: Whether the type is that of a whole result.
    """
    for depth in range(max_depth, 1, -1):
        text = _TypeWriter(root or {}).write(schema, depth, show_text=is_result)
        if len(text) <= MAX_TYPE_LENGTH:
            return text
    return _TypeWriter(root or {}).write(schema, 1)


def name_text(name: str) -> str:
    """Return a name: unchanged if it is a short identifier, otherwise shortened, quoted and escaped."""
    is_plain = len(name) <= MAX_NAME_LENGTH and name.isidentifier()
    return name if is_plain else repr(truncate_middle(name, MAX_NAME_LENGTH))


def value_text(value: Any) -> str:
    """Return a default value as Python code, shortened."""
    return truncate_middle(repr(value), MAX_VALUE_LENGTH)


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of every property, required ones first, including those without a declaration."""
    declared, required = schema.get("properties"), required_names(schema)
    properties = dict(declared) if isinstance(declared, Mapping) else {}
    names = [*properties, *(name for name in required if name not in properties)]
    return {name: properties.get(name, {}) for name in sorted(names, key=lambda name: name not in required)}


def required_names(schema: Mapping[str, Any]) -> dict[str, None]:
    """Return the names of required properties, in order."""
    names = schema.get("required")
    return dict.fromkeys(name for name in names if isinstance(name, str)) if isinstance(names, list) else {}


class _TypeWriter:
    """Writes one type. Counts the schemas it reads, because references can form a cycle."""

    def __init__(self, root: JsonSchema) -> None:
        self._root, self._nodes = root, 0

    def write(self, schema: Any, depth: int, *, show_text: bool = False) -> str:
        self._nodes += 1
        if not isinstance(schema, Mapping) or self._nodes > MAX_NODES:
            return ANY
        if isinstance(reference := schema.get("$ref"), str):
            return self.write(resolve_ref(self._root, reference), depth, show_text=show_text)
        kinds, options = schema.get("type"), schema.get("anyOf") or schema.get("oneOf")
        if kinds is None and isinstance(options, list):
            names = [self.write(option, depth, show_text=show_text) for option in options]
        else:
            kinds = kinds if isinstance(kinds, list) else [kinds]
            names = [self._write_kind(kind, schema, depth, show_text) for kind in kinds]
        return ANY if ANY in names or not names else " | ".join(dict.fromkeys(names))

    def _write_kind(self, kind: Any, schema: Mapping[str, Any], depth: int, show_text: bool) -> str:
        if kind == "array" and depth > 1:
            item = self.write(schema.get("items"), depth - 1)
            return "list" if item == ANY else f"list[{item}]"
        if kind == "object" and depth > 1 and (properties := properties_of(schema)):
            return self._write_fields(properties, required_names(schema), depth - 1, show_text)
        return TYPES.get(kind, ANY) if isinstance(kind, str) else ANY

    def _write_fields(
        self, properties: Mapping[str, Any], required: Mapping[str, None], depth: int, show_text: bool
    ) -> str:
        fields: Sequence[str] = [
            self._write_field(name, field, depth, name in required, show_text)
            for name, field in list(properties.items())[:MAX_FIELDS]
        ]
        return f"{{{', '.join([*fields, *['...'][: len(properties) - len(fields)]])}}}"

    def _write_field(self, name: str, field: Any, depth: int, is_required: bool, show_text: bool) -> str:
        kind = self.write(field, depth)
        label = f"{name_text(name)}{'' if is_required else '?'}"
        return label if kind == TEXT and not show_text else f"{label}: {kind}"
