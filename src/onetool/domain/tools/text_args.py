"""Arguments of a call that are written as text: conversion as the tool's schema says, and its usage."""

import json
from typing import Any

from onetool.domain.errors import InvalidTool
from onetool.domain.text.json_text import is_json

from .json_schema import compile_schema, describe_problems
from .schema_types import TEXT, name_text, properties_of, required_names, type_text
from .tool import JsonSchema, ToolSpec

MAX_SHOWN_PARAMETERS = 30


def convert_text(schema: JsonSchema, name: str, text: str) -> Any:
    """Return the value of a parameter that a text stands for.

    It is the text itself if the schema accepts that, otherwise what the text is as JSON.

    >>> schema = {"properties": {"days": {"type": "integer"}, "zip": {"type": "string"}}}
    >>> convert_text(schema, "days", "5"), convert_text(schema, "zip", "5")
    (5, '5')
    """
    try:
        validator = compile_schema(schema)
    except InvalidTool:  # the call reports it
        return text

    def is_valid(value: Any) -> bool:
        return not describe_problems(validator, schema, {name: value}, is_complete=False)

    value = _parse_json(text)
    if is_valid(text):
        return text
    return text if is_text(schema, name) and not is_valid(value) else value


def is_text(schema: JsonSchema, name: str) -> bool:
    """Whether a parameter can be a text."""
    field = properties_of(schema).get(name, {})
    return TEXT in type_text(field, schema, max_depth=1).split(" | ")


def _parse_json(text: str) -> Any:
    """Return a text as JSON, or the text itself. Booleans may be written as in Python."""
    try:
        value = json.loads(text.lower() if text in ("True", "False") else text)
    except (ValueError, RecursionError):
        return text
    return value if is_json(value) else text


def call_usage(spec: ToolSpec) -> str:
    """Return how the tool is called on the command line: `fs.list_dir path=str [recursive=bool]`."""
    schema = spec.input_schema
    properties, required = properties_of(schema), required_names(schema)
    words = []
    for name in list(properties)[:MAX_SHOWN_PARAMETERS]:
        word = f"{name_text(name)}={type_text(properties[name], schema, max_depth=1)}"
        words.append(word if name in required else f"[{word}]")
    words += ["..."] if len(words) < len(properties) else []
    return " ".join([spec.name, *words])
