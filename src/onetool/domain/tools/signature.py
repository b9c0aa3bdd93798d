"""Python signatures and stub files derived from the schemas of tools."""

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
STUB_TYPES = TYPES | {"array": "list[Any]", "object": "dict[str, Any]"}
"""Types in stub files, where type checkers require type arguments."""
UNKNOWN_DEFAULT = "'...'"


def signature(spec: ToolSpec, *, required_only: bool = False) -> str:
    """Return a signature such as `pack.func(required: str, optional: int = 5) -> str`.

    Required parameters come first, otherwise in the order of the schema. `required_only` replaces the
    optional ones by `...`.
    """
    arrow = f" -> {spec.return_type}" if spec.return_type else ""
    parameters = list(_parameters(spec.input_schema))
    if required_only:
        required = spec.input_schema.get("required", ())
        count = len([name for name in _ordered_names(spec.input_schema) if name in required])
        parameters = [*parameters[:count], *(["..."] if len(parameters) > count else [])]
    return f"{spec.qualified_name}({', '.join(parameters)}){arrow}"


def arguments(schema: JsonSchema) -> list[tuple[str, str, str]]:
    """Return name, type and description of each parameter, in the order of the signature."""
    properties = _properties(schema)
    return [
        (name, annotation(properties[name]), _description(properties[name]))
        for name in _ordered_names(schema)
    ]


def pack_stubs(specs: Iterable[ToolSpec]) -> str:
    """Return a stub file with these tools as functions, for type-checking code that calls them."""
    functions = [
        f"def {_function_name(spec)}({stub_parameters(spec.input_schema)}) -> Any: ...\n" for spec in specs
    ]
    return "from typing import Any\n" + "".join(functions)


def stub_parameters(schema: JsonSchema) -> str:
    """Return the keyword-only parameters of a stub; required ones have no default."""
    properties, required = _properties(schema), schema.get("required", ())
    names = [name for name in _ordered_names(schema) if _is_parameter_name(name)]
    parameters = [
        f"{name}: {annotation(properties[name], STUB_TYPES)}{'' if name in required else ' = ...'}"
        for name in names
    ]
    has_extra = schema.get("additionalProperties", True) is not False or len(names) < len(properties)
    return ", ".join([*(["*"] if parameters else []), *parameters, *(["**more: Any"] if has_extra else [])])


def annotation(schema: Any, types: Mapping[str, str] = TYPES) -> str:
    """Return the Python type of a JSON Schema, or `Any` if it has none."""
    if not isinstance(schema, Mapping):
        return "Any"
    kind = schema.get("type")
    options = schema.get("anyOf") or schema.get("oneOf")
    if kind is None and isinstance(options, list):
        names = [annotation(option, types) for option in options]
    else:
        names = [types.get(item, "Any") if isinstance(item, str) else "Any" for item in _as_list(kind)]
    return "Any" if "Any" in names or not names else " | ".join(dict.fromkeys(names))


def _parameters(schema: JsonSchema) -> Iterable[str]:
    properties, required = _properties(schema), schema.get("required", ())
    for name in _ordered_names(schema):
        parameter = properties[name]
        default = ""
        if name not in required:
            has_default = isinstance(parameter, Mapping) and "default" in parameter
            default = f" = {parameter['default']!r}" if has_default else f" = {UNKNOWN_DEFAULT}"
        yield f"{name}: {annotation(parameter)}{default}"


def _properties(schema: JsonSchema) -> dict[str, Any]:
    """Return the schema of every parameter, including required ones without a declaration."""
    required = [name for name in schema.get("required", ()) if isinstance(name, str)]
    return {name: {} for name in required} | dict(schema.get("properties") or {})


def _ordered_names(schema: JsonSchema) -> list[str]:
    """Return the parameter names, required ones first, otherwise in the order of the schema."""
    required = schema.get("required", ())
    declared = list(schema.get("properties") or {})
    names = declared + [name for name in _properties(schema) if name not in declared]
    return sorted(names, key=lambda name: name not in required)


def _description(schema: Any) -> str:
    text = schema.get("description", "") if isinstance(schema, Mapping) else ""
    return " ".join(text.split()) if isinstance(text, str) else ""


def _as_list(kind: Any) -> list[Any]:
    return kind if isinstance(kind, list) else [kind]


def _function_name(spec: ToolSpec) -> str:
    return spec.qualified_name.partition(".")[2]


def _is_parameter_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
