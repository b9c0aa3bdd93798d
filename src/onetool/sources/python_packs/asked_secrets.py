"""The secrets that the code of a pack file asks for by name, found without running it."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

ARGUMENTS = {
    "get_secret": (0, "name"),
    "api_headers": (0, "secret_name"),
    "lazy_client": (1, "secret_name"),
}
"""Functions of the SDK that read a secret, and which argument is its name."""


class _Definition(NamedTuple):
    """A name that a module defines: the names that its code uses, and the secrets that it asks for."""

    uses: set[str]
    secrets: dict[str, None]


def asked_secrets(source: str) -> dict[str, list[str]]:
    """Return the secrets that each function asks for, itself or through other names of the module.

    >>> asked_secrets("key = api_headers('K')\\ndef f(): return key\\ndef g(): return get_secret(other)")
    {'f': ['K'], 'g': []}
    """
    tree = ast.parse(source)
    definitions = dict[str, _Definition]()
    for statement in tree.body:
        definition = _Definition(set(_used_names(statement)), dict.fromkeys(_secrets(statement)))
        for name in _defined_names(statement):
            known = definitions.setdefault(name, _Definition(set(), {}))
            known.uses.update(definition.uses)
            known.secrets.update(definition.secrets)
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name: _reached(function.name, definitions) for function in functions}


def _reached(name: str, definitions: dict[str, _Definition]) -> list[str]:
    found, seen, waiting = dict[str, None](), set[str](), [name]
    while waiting:
        current = waiting.pop()
        if current in definitions and current not in seen:
            seen.add(current)
            found.update(definitions[current].secrets)
            waiting.extend(definitions[current].uses)
    return sorted(found)


def _defined_names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _used_names(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id


def _secrets(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in ARGUMENTS:
            position, keyword = ARGUMENTS[name]
            values = [
                *node.args[position : position + 1],
                *(k.value for k in node.keywords if k.arg == keyword),
            ]
            yield from (v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str))
