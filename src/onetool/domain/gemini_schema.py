"""JSON Schema as Gemini understands it: a small part of OpenAPI 3.0, without references."""

import json
from collections.abc import Mapping
from typing import Any

from .schemas import look_up

Schema = dict[str, Any]

WORDS = ("description", "nullable", "default", "pattern", "minimum", "maximum")
SIZES = tuple(f"{end}{of}" for of in ("Items", "Length", "Properties") for end in ("min", "max"))
COPIED = (*WORDS, *SIZES)
FORMATS = frozenset({"date-time", "enum", "float", "double", "int32", "int64"})
TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object"})
MAX_DEPTH = 12
"""Deeper than a model fills in."""
MAX_FOLDS = 50
MAX_NODES = 1_000
"""Larger than a declaration that a request can carry; references can make a small schema huge."""


def gemini_schema(schema: Mapping[str, Any]) -> Schema:
    """Return the schema with everything that Gemini refuses rewritten or left out."""
    return {"properties": {}, **_Converter(schema).convert(schema, ()), "type": "object"}


class _Converter:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def convert(self, schema: Any, path: tuple[Any, ...]) -> Schema:
        """Convert a node; `path` holds the nodes it lies in, so that a schema that contains itself ends."""
        self._nodes += 1
        if not isinstance(schema, Mapping) or len(path) > MAX_DEPTH or self._nodes > MAX_NODES:
            return _anything()
        node = _one_type(self._flat(schema, path))
        inside = (*path, schema)
        converted = {key: node[key] for key in COPIED if key in node}
        if node.get("format") in FORMATS:
            converted["format"] = node["format"]
        converted |= self._choices(node, inside) or self._typed(node, inside)
        return _alone(_with_values(converted, node))

    def _flat(self, schema: Mapping[str, Any], path: tuple[Any, ...]) -> Schema:
        """Fold what `$ref` and `allOf` point to into the node itself, whose own words win."""
        self._nodes += 1
        node = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        parts = [look_up(self._root, str(schema["$ref"]))] if "$ref" in schema else []
        for part in [*parts, *schema.get("allOf", ())]:
            if not isinstance(part, Mapping) or self._nodes > MAX_NODES or len(path) > MAX_FOLDS:
                continue
            if any(part is outer for outer in (schema, *path)):  # a schema that contains itself
                node = {key: part[key] for key in ("type",) if key in part} | node
            else:
                node = _fold(self._flat(part, (*path, schema)), node)
        return node

    def _choices(self, node: Schema, path: tuple[Any, ...]) -> Schema:
        """Options become `anyOf`, without null; a single option becomes the node itself."""
        options = node.get("anyOf") or node.get("oneOf") or ()
        real = [option for option in options if option != {"type": "null"}]
        if not real:
            return {}
        nullable = {"nullable": True} if len(real) < len(options) else {}
        converted = [self.convert(option, path) for option in real]
        return nullable | (converted[0] if len(converted) == 1 else {"anyOf": converted})

    def _typed(self, node: Schema, path: tuple[Any, ...]) -> Schema:
        kind = node.get("type") or _implied_type(node)
        if kind == "array":
            return {"type": "array", "items": self.convert(node.get("items", {}), path)}
        if kind != "object":
            return {"type": kind} if kind in TYPES else _anything()
        properties = {name: self.convert(child, path) for name, child in node.get("properties", {}).items()}
        required = [name for name in node.get("required", ()) if name in properties]
        return (
            {"type": "object"}
            | ({"properties": properties} if properties else {})
            | ({"required": required} if required else {})
        )


def _anything() -> Schema:
    items = {"type": "array", "items": {"type": "string"}}
    return {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, items, {"type": "object"}]}


def _alone(node: Schema) -> Schema:
    """Nothing may stand beside `anyOf`: what does moves into the options."""
    if "anyOf" not in node:
        return node
    words = {key: node[key] for key in ("description", "nullable") if key in node}
    return {"anyOf": [{**words, **option} for option in node["anyOf"]]}


def _fold(under: Schema, over: Schema) -> Schema:
    folded = {**under, **over}
    if "properties" in under and "properties" in over:
        folded["properties"] = {**under["properties"], **over["properties"]}
    if "required" in under and "required" in over:
        folded["required"] = list(dict.fromkeys([*under["required"], *over["required"]]))
    return folded


def _one_type(node: Schema) -> Schema:
    """Turn a list of types into one type, `nullable`, or options."""
    types = node.get("type")
    if types == "null":
        return {**node, "type": "string", "nullable": True}
    if not isinstance(types, list):
        return node
    real = [kind for kind in types if kind != "null"] or ["string"]
    rest = {key: value for key, value in node.items() if key != "type"}
    nullable = {"nullable": True} if "null" in types else {}
    if len(real) == 1:
        return {**rest, **nullable, "type": real[0]}
    return {**rest, **nullable, "anyOf": [{**_without_words(rest), "type": kind} for kind in real]}


def _without_words(node: Schema) -> Schema:
    return {key: value for key, value in node.items() if key not in ("description", "default")}


def _implied_type(node: Schema) -> str:
    if "properties" in node or "required" in node:
        return "object"
    if "items" in node or "prefixItems" in node:
        return "array"
    values = node.get("enum", [node["const"]] if "const" in node else [])
    return "string" if values and all(isinstance(value, str) for value in values) else ""


def _with_values(converted: Schema, node: Schema) -> Schema:
    """Keep a list of texts as `enum`; say any other list of values in words."""
    values = node.get("enum", [node["const"]] if "const" in node else None)
    if not isinstance(values, list):
        return converted
    if converted.get("type") == "string" and all(isinstance(value, str) for value in values):
        return {**converted, "enum": values}
    words = f"One of: {', '.join(json.dumps(value) for value in values)}."
    return {**converted, "description": f"{converted.get('description', '')} {words}".strip()}
