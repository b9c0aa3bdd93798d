"""Parameters of stored programs: each property of the argument schema is a variable of the program."""

import ast
import keyword
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .program import FENCE, InvalidProgram, Program, parse_program

RESERVED_PREFIXES = ("__", "onetool_")
"""Starts of names that the sandbox uses itself."""
VALUE_METHODS = frozenset(
    {name for kind in (str, int, float, bool, list, dict) for name in dir(kind)}
    | {"mime_type", "size", "handle"}
)
"""Attributes of values that arguments can have."""


def name_problem(name: str) -> str:
    """Return why a text is not the name of a variable, or an empty string.

    >>> name_problem("user-id")
    "'user-id' is not a Python name: use letters, digits and underscores, such as user_id"
    """
    if not name.isidentifier() or unicodedata.normalize("NFKC", name) != name:
        example = "".join(char if char.isalnum() and char.isascii() else "_" for char in name).strip("_")
        hint = f", such as {example}" if example.isidentifier() else ""
        return f"{name!r:.80} is not a Python name: use letters, digits and underscores{hint}"
    if keyword.iskeyword(name):
        return f"{name!r} is a word of the Python language; use another name"
    if name.startswith(RESERVED_PREFIXES):
        return f"{name!r} is reserved: names must not begin with __ or onetool_"
    return ""


def parse_stored(source: str) -> Program:
    """Parse a program that is to be stored.

    Raises:
        InvalidProgram: It is empty, a snippet, or not valid Python. The message names the line.
    """
    if not source.strip():
        raise InvalidProgram("line 1: the program is empty")
    if source.lstrip().startswith("$"):
        raise InvalidProgram("line 1: a snippet cannot be stored; store the code that it expands to")
    return parse_program(source, ())


def strip_fence(code: str) -> str:
    """Return code without the Markdown fence around it."""
    match = FENCE.match(code)
    return match[1] if match else code


def shadowed_tool(program: Program, names: Collection[str]) -> tuple[str, str] | None:
    """Return a parameter and an attribute of it that no value has: the program means a pack of that name."""
    for name, attribute in sorted(program.attributes):
        is_parameter = name in names and not program.bindings.counts[name]
        if is_parameter and attribute not in VALUE_METHODS:
            return name, attribute
    return None


def called_parameter(program: Program, names: Collection[str]) -> str | None:
    """Return a parameter that the program calls: it means the built-in function of that name."""
    calls = (node.func for node in program.nodes if isinstance(node, ast.Call))
    called = {function.id for function in calls if isinstance(function, ast.Name)}
    return min((name for name in called if name in names and not program.bindings.counts[name]), default=None)


def properties_of(arg_schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the properties of an argument schema, by name."""
    properties = arg_schema.get("properties", {})
    return properties if isinstance(properties, Mapping) else {}


def variables_of(arg_schema: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables of a program: the arguments, or the defaults of those that are omitted."""
    properties = properties_of(arg_schema)
    defaults = {name: _default(schema) for name, schema in properties.items()}
    return defaults | {name: value for name, value in args.items() if name in properties}


def free_names(program: Program) -> frozenset[str]:
    """Return the names that a program uses and does not bind: packs, aliases and built-in functions."""
    return frozenset(use.id for use in program.bindings.free)


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return a name, with a number at its end if it is taken."""
    names, number, new = set(taken), 1, name
    while new in names:
        number += 1
        new = f"{name}_{number}"
    return new


def _default(schema: Any) -> Any:
    return schema.get("default") if isinstance(schema, Mapping) else None
