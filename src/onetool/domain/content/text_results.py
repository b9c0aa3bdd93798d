"""Structured results of servers that only repeat their text, such as `{content: text}`."""

from collections.abc import Mapping
from typing import Any

TEXT_KEYS = ("content", "result")
"""Fields in which server libraries repeat the text of a result."""
SCHEMA_KEYWORDS = ("type", "properties", "required", "additionalProperties")


def is_text_schema(schema: Mapping[str, Any] | None) -> bool:
    """Whether the results of a tool are declared as one text in an object, and nothing else."""
    properties = schema.get("properties") if schema else None
    if schema is None or not isinstance(properties, Mapping) or len(properties) != 1:
        return False
    ((key, field),) = properties.items()
    is_text = isinstance(field, Mapping) and field.get("type") == "string"
    return is_text and key in TEXT_KEYS and schema.get("required") == [key]


def text_output_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of the data: the text itself, or the object if it has undeclared fields."""
    declared = {keyword: schema[keyword] for keyword in SCHEMA_KEYWORDS if keyword in schema}
    return {"anyOf": [*schema["properties"].values(), declared]}


def to_text(structured: Mapping[str, Any], text: str, schema: Mapping[str, Any] | None) -> Any:
    """Return the text of a structured result that is only that text; any other result unchanged.

    With an output schema, the schema alone decides, so that all results of a tool have the same type.

    Args:
        structured: The structured result.
        text: The text of the same result.
        schema: The output schema of the tool, if it has one.
    """
    value = next(iter(structured.values())) if len(structured) == 1 else None
    if not isinstance(value, str) or not structured.keys() <= set(TEXT_KEYS):
        return structured
    is_only_text = value == text if schema is None else is_text_schema(schema)
    return value if is_only_text else structured
