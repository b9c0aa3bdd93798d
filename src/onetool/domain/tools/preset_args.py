"""Arguments that the settings add to the calls of a tool."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from onetool.domain.errors import InvalidArgs, Reason

COMBINATIONS = ("allOf", "anyOf", "oneOf")
"""Keywords whose members describe the same object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetArgs:
    """Fixed arguments and defaults of a tool, and the schema of its complete arguments."""

    schema: Mapping[str, Any]
    fixed: Mapping[str, Any] = field(default_factory=dict, repr=False)
    defaults: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def complete(self, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with those that the settings add.

        Raises:
            InvalidArgs: The caller passes an argument that the settings fix.
        """
        if passed := [name for name in args if name in self.fixed]:
            message = f"Invalid arguments for {tool}: the settings fix {', '.join(map(repr, passed))}. "
            raise InvalidArgs(Reason.BAD_ARGS, message + "Omit it: the fixed value is used.")
        missing = {name: value for name, value in self.defaults.items() if name not in args}
        return {**args, **missing, **self.fixed}

    def shown_schema(self) -> dict[str, Any]:
        """Return the schema of what a caller may pass: without fixed parameters, and with the defaults."""
        schema = _without(self.schema, self.fixed, self.defaults)
        if self.defaults:
            properties = dict(schema.get("properties") or {})
            for name, value in self.defaults.items():
                declared = properties.get(name)
                properties[name] = {**(declared if isinstance(declared, Mapping) else {}), "default": value}
            schema["properties"] = properties
        return schema


def unknown_names(schema: Mapping[str, Any], names: Collection[str]) -> list[str]:
    """Return the names that are no parameters of a schema.

    Empty for a schema that declares none, or says that there may be others. One that says nothing allows
    others as well, but a misspelled name in the settings must not go unnoticed.
    """
    others = schema.get("additionalProperties")
    is_open = others not in (None, False) or "patternProperties" in schema or "$ref" in schema
    if is_open or (others is None and "properties" not in schema):
        return []
    known = parameter_names(schema)
    return [name for name in names if name not in known]


def parameter_names(schema: Any) -> list[str]:
    """Return the parameters that a schema declares, also in its alternatives."""
    if not isinstance(schema, Mapping):
        return []
    declared = schema.get("properties")
    names = list(declared) if isinstance(declared, Mapping) else []
    return names + [name for part in _parts(schema) for name in parameter_names(part)]


def _without(
    schema: Mapping[str, Any], removed: Collection[str], optional: Collection[str]
) -> dict[str, Any]:
    """Return the schema of an object without some parameters, and with others optional."""
    result = dict(schema)
    if isinstance(properties := schema.get("properties"), Mapping):
        result["properties"] = {name: value for name, value in properties.items() if name not in removed}
    if isinstance(required := schema.get("required"), list):
        result["required"] = [name for name in required if name not in {*removed, *optional}]
    for keyword in COMBINATIONS:
        if isinstance(parts := schema.get(keyword), list):
            result[keyword] = [
                _without(part, removed, optional) if isinstance(part, Mapping) else part for part in parts
            ]
    return result


def _parts(schema: Mapping[str, Any]) -> list[Any]:
    combined = (schema.get(keyword) for keyword in COMBINATIONS)
    return [part for parts in combined if isinstance(parts, list) for part in parts]
