"""Conversion of JSON Schema to the OpenAPI 3.0 subset that Gemini accepts."""

import json
from collections.abc import Mapping
from typing import Any

from .json_schema import resolve_ref

Schema = dict[str, Any]

ANNOTATION_KEYS = ("description", "nullable", "default", "pattern", "minimum", "maximum")
SIZE_KEYS = tuple(f"{bound}{of}" for of in ("Items", "Length", "Properties") for bound in ("min", "max"))
COPIED_KEYS = (*ANNOTATION_KEYS, *SIZE_KEYS)
FORMATS = frozenset({"date-time", "enum", "float", "double", "int32", "int64"})
TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object"})
MAX_DEPTH = 12
"""Deeper than models fill in."""
MAX_MERGE_DEPTH = 50
MAX_NODES = 1_000
"""Maximum size of a converted schema; references can expand a small schema enormously."""


def gemini_schema(schema: Mapping[str, Any]) -> Schema:
    """Return an equivalent schema without the keywords that Gemini rejects."""
    return {"properties": {}, **_Converter(schema).convert(schema, ()), "type": "object"}


class _Converter:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def convert(self, schema: Any, path: tuple[Any, ...]) -> Schema:
        """Convert a node. `path` contains its ancestors, to stop at recursive schemas."""
        self._nodes += 1
        if not isinstance(schema, Mapping) or len(path) > MAX_DEPTH or self._nodes > MAX_NODES:
            return _any_value()
        node = _normalize_type(self._flatten(schema, path))
        child_path = (*path, schema)
        converted = {key: node[key] for key in COPIED_KEYS if key in node}
        if node.get("format") in FORMATS:
            converted["format"] = node["format"]
        converted |= self._convert_options(node, child_path) or self._convert_typed(node, child_path)
        return _isolate_any_of(_add_enum(converted, node))

    def _flatten(self, schema: Mapping[str, Any], path: tuple[Any, ...]) -> Schema:
        """Merge the targets of `$ref` and `allOf` into the node, whose own keywords win."""
        self._nodes += 1
        node = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
        parts = [resolve_ref(self._root, str(schema["$ref"]))] if "$ref" in schema else []
        for part in [*parts, *schema.get("allOf", ())]:
            if not isinstance(part, Mapping) or self._nodes > MAX_NODES or len(path) > MAX_MERGE_DEPTH:
                continue
            if any(part is outer for outer in (schema, *path)):  # recursive schema
                node = {key: part[key] for key in ("type",) if key in part} | node
            else:
                node = _merge(self._flatten(part, (*path, schema)), node)
        return node

    def _convert_options(self, node: Schema, path: tuple[Any, ...]) -> Schema:
        """Convert `anyOf` and `oneOf`: null becomes `nullable`, a single other option replaces the node."""
        options = node.get("anyOf") or node.get("oneOf") or ()
        non_null = [option for option in options if option != {"type": "null"}]
        if not non_null:
            return {}
        nullable = {"nullable": True} if len(non_null) < len(options) else {}
        converted = [self.convert(option, path) for option in non_null]
        return nullable | (converted[0] if len(converted) == 1 else {"anyOf": converted})

    def _convert_typed(self, node: Schema, path: tuple[Any, ...]) -> Schema:
        kind = node.get("type") or _implied_type(node)
        if kind == "array":
            return {"type": "array", "items": self.convert(node.get("items", {}), path)}
        if kind != "object":
            return {"type": kind} if kind in TYPES else _any_value()
        properties = {name: self.convert(child, path) for name, child in node.get("properties", {}).items()}
        required = [name for name in node.get("required", ()) if name in properties]
        return (
            {"type": "object"}
            | ({"properties": properties} if properties else {})
            | ({"required": required} if required else {})
        )


def _any_value() -> Schema:
    items = {"type": "array", "items": {"type": "string"}}
    return {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, items, {"type": "object"}]}


def _isolate_any_of(node: Schema) -> Schema:
    """Move the siblings of `anyOf` into its options, because Gemini allows no siblings."""
    if "anyOf" not in node:
        return node
    siblings = {key: node[key] for key in ("description", "nullable") if key in node}
    return {"anyOf": [{**siblings, **option} for option in node["anyOf"]]}


def _merge(base: Schema, override: Schema) -> Schema:
    merged = {**base, **override}
    if "properties" in base and "properties" in override:
        merged["properties"] = {**base["properties"], **override["properties"]}
    if "required" in base and "required" in override:
        merged["required"] = list(dict.fromkeys([*base["required"], *override["required"]]))
    return merged


def _normalize_type(node: Schema) -> Schema:
    """Replace a list of types by one type, `nullable` or `anyOf`."""
    types = node.get("type")
    if types == "null":
        return {**node, "type": "string", "nullable": True}
    if not isinstance(types, list):
        return node
    non_null = [kind for kind in types if kind != "null"] or ["string"]
    rest = {key: value for key, value in node.items() if key != "type"}
    nullable = {"nullable": True} if "null" in types else {}
    if len(non_null) == 1:
        return {**rest, **nullable, "type": non_null[0]}
    return {**rest, **nullable, "anyOf": [{**_without_texts(rest), "type": kind} for kind in non_null]}


def _without_texts(node: Schema) -> Schema:
    return {key: value for key, value in node.items() if key not in ("description", "default")}


def _implied_type(node: Schema) -> str:
    if "properties" in node or "required" in node:
        return "object"
    if "items" in node or "prefixItems" in node:
        return "array"
    values = node.get("enum", [node["const"]] if "const" in node else [])
    return "string" if values and all(isinstance(value, str) for value in values) else ""


def _add_enum(converted: Schema, node: Schema) -> Schema:
    """Add strings as `enum` and other values to the description: Gemini has only string enums."""
    values = node.get("enum", [node["const"]] if "const" in node else None)
    if not isinstance(values, list):
        return converted
    if converted.get("type") == "string" and all(isinstance(value, str) for value in values):
        return {**converted, "enum": values}
    options = f"One of: {', '.join(json.dumps(value) for value in values)}."
    return {**converted, "description": f"{converted.get('description', '')} {options}".strip()}
