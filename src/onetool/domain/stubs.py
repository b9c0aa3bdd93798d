"""A pack as Python stubs: what code that a model wrote is checked against before it runs."""

import keyword
from collections.abc import Iterable, Mapping
from typing import Any

from .tool import ToolSpec

TYPES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list[Any]",
    "object": "dict[str, Any]",
    "null": "None",
}


def pack_stubs(specs: Iterable[ToolSpec]) -> str:
    """Return the stub file of a module whose functions are these tools."""
    functions = [f"def {_function(spec)}({parameters(spec.input_schema)}) -> Any: ...\n" for spec in specs]
    return "from typing import Any\n" + "".join(functions)


def parameters(schema: Mapping[str, Any]) -> str:
    """The parameters of a tool as Python writes them, keywords only; required ones have no default."""
    properties = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if _is_name(name)]
    named = [name for name in properties if _is_name(name)]
    written = [f"{name}: {annotation(properties.get(name, {}))}" for name in required]
    written += [f"{name}: {annotation(properties[name])} = ..." for name in named if name not in required]
    is_open = schema.get("additionalProperties", True) is not False or len(named) < len(properties)
    return ", ".join([*(["*"] if written else []), *written, *(["**more: Any"] if is_open else [])])


def annotation(schema: Any) -> str:
    """The Python type of a JSON Schema, as far as it says one."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(kind, list):
        return " | ".join(TYPES.get(one, "Any") for one in kind) or "Any"
    return TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"


def _function(spec: ToolSpec) -> str:
    return spec.qualified_name.partition(".")[2]


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
