"""Arguments as their schema means them: with its defaults, and with integers written as integers."""

from collections.abc import Mapping
from typing import Any


def conform(schema: Any, value: Any) -> Any:
    """Return a valid value with the defaults of omitted properties, and `5.0` as `5` where an integer is due.

    >>> conform({"properties": {"n": {"type": "integer"}, "unit": {"default": "C"}}}, {"n": 5.0})
    {'n': 5, 'unit': 'C'}
    """
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() and _is_integer(schema) else value
    if isinstance(value, list):
        return [conform(schema.get("items"), item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties") or {}
    complete = {name: conform(properties.get(name), item) for name, item in value.items()}
    for name, declared in properties.items():
        if name not in value and isinstance(declared, Mapping) and "default" in declared:
            complete[name] = declared["default"]
    return complete


def _is_integer(schema: Mapping[str, Any]) -> bool:
    options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    found = [option.get("type") for option in options if isinstance(option, Mapping)]
    types = {name for kind in found for name in (kind if isinstance(kind, list) else [kind])}
    return "integer" in types and "number" not in types
