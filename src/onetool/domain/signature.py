"""How a tool is written as a Python function: its parameters, from its schema."""

import keyword
from collections.abc import Iterable, Mapping
from typing import Any

from .tool import JsonSchema, ToolSpec

TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "object": "dict",
    "null": "None",
}
LOOSE = TYPES | {"array": "list[Any]", "object": "dict[str, Any]"}
"""As a type checker wants them."""
UNKNOWN_DEFAULT = "'...'"


def signature(spec: ToolSpec, *, required_only: bool = False) -> str:
    """`pack.func(required: str, optional: int = 5) -> str`: required first, then in the schema's order.

    required_only: `...` stands for the others.
    """
    arrow = f" -> {spec.return_type}" if spec.return_type else ""
    shown = list(_shown(spec.input_schema))
    if required_only:
        most = len(
            [name for name in _order(spec.input_schema) if name in spec.input_schema.get("required", ())]
        )
        shown = [*shown[:most], *(["..."] if len(shown) > most else [])]
    return f"{spec.qualified_name}({', '.join(shown)}){arrow}"


def arguments(schema: JsonSchema) -> list[tuple[str, str, str]]:
    """Name, type and description of each parameter, in the signature's order."""
    properties = _properties(schema)
    return [(name, annotation(properties[name]), _description(properties[name])) for name in _order(schema)]


def pack_stubs(specs: Iterable[ToolSpec]) -> str:
    """Return the stub file of a module whose functions are these tools: what code is checked against."""
    functions = [f"def {_function(spec)}({stub(spec.input_schema)}) -> Any: ...\n" for spec in specs]
    return "from typing import Any\n" + "".join(functions)


def stub(schema: JsonSchema) -> str:
    """The parameters as a stub file has them, keywords only; required ones have no default."""
    properties, required = _properties(schema), schema.get("required", ())
    named = [name for name in _order(schema) if _is_name(name)]
    written = [
        f"{name}: {annotation(properties[name], LOOSE)}{'' if name in required else ' = ...'}"
        for name in named
    ]
    is_open = schema.get("additionalProperties", True) is not False or len(named) < len(properties)
    return ", ".join([*(["*"] if written else []), *written, *(["**more: Any"] if is_open else [])])


def annotation(schema: Any, types: Mapping[str, str] = TYPES) -> str:
    """The Python type of a JSON Schema, as far as it says one."""
    if not isinstance(schema, Mapping):
        return "Any"
    kind = schema.get("type")
    options = schema.get("anyOf") or schema.get("oneOf")
    if kind is None and isinstance(options, list):
        found = [annotation(option, types) for option in options]
    else:
        found = [types.get(one, "Any") if isinstance(one, str) else "Any" for one in _listed(kind)]
    return "Any" if "Any" in found or not found else " | ".join(dict.fromkeys(found))


def _shown(schema: JsonSchema) -> Iterable[str]:
    properties, required = _properties(schema), schema.get("required", ())
    for name in _order(schema):
        known = properties[name]
        default = ""
        if name not in required:
            has_default = isinstance(known, Mapping) and "default" in known
            default = f" = {known['default']!r}" if has_default else f" = {UNKNOWN_DEFAULT}"
        yield f"{name}: {annotation(known)}{default}"


def _properties(schema: JsonSchema) -> dict[str, Any]:
    """What is known of every parameter, also of one that is only required."""
    required = [name for name in schema.get("required", ()) if isinstance(name, str)]
    return {name: {} for name in required} | dict(schema.get("properties") or {})


def _order(schema: JsonSchema) -> list[str]:
    """Required parameters first, otherwise as the schema has them."""
    required = schema.get("required", ())
    declared = list(schema.get("properties") or {})
    known = declared + [name for name in _properties(schema) if name not in declared]
    return sorted(known, key=lambda name: name not in required)


def _description(schema: Any) -> str:
    text = schema.get("description", "") if isinstance(schema, Mapping) else ""
    return " ".join(text.split()) if isinstance(text, str) else ""


def _listed(kind: Any) -> list[Any]:
    return kind if isinstance(kind, list) else [kind]


def _function(spec: ToolSpec) -> str:
    return spec.qualified_name.partition(".")[2]


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
