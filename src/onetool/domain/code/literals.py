"""Literals of a program that can become its parameters."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from onetool.domain.text.json_text import is_json

from .parameters import free_names, name_problem, parse_stored, strip_fence, unique_name
from .program import Program
from .source_map import SourceMap

MAX_LITERALS = 500
MAX_ITEMS = 10
"""Items of a list or dict that are listed themselves, too."""
MAX_TEXT_LENGTH = 200
TYPES: Mapping[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
NAMES = {
    "string": "text",
    "boolean": "flag",
    "integer": "number",
    "number": "number",
    "array": "items",
    "object": "options",
}
"""Names of parameters whose use suggests no other one."""
KEY_METHODS = frozenset({"get", "pop", "setdefault"})
"""Methods whose first argument is the name of a field."""
SKIPPED = (ast.JoinedStr, ast.pattern)
"""Values inside of f-strings have no position, and patterns need constants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A value in the source of a program."""

    index: int
    line: int
    column: int
    """Position in the line, from 1, in characters."""
    text: str
    value: Any
    type: str
    """Its type in JSON Schema."""
    suggested_name: str
    node: ast.expr
    assigned: str
    """The variable to which the program assigns nothing but this value; else empty."""


def find_literals(code: str) -> list[Literal]:
    """Return the literals of a program that can become parameters, in the order of the source.

    Raises:
        InvalidProgram: The code is not valid Python.
    """
    code = strip_fence(code)
    return literals_of(code, parse_stored(code))


def literals_of(code: str, program: Program) -> list[Literal]:
    """Return the literals of code that was parsed."""
    tree = ast.parse(code)
    taken = set(free_names(program)) | {name for name, count in program.bindings.counts.items() if count}
    source_map, names = SourceMap(code), dict[str, Any]()
    lines = source_map.text.splitlines()
    found: list[Literal] = []
    sites = sorted(_find(tree), key=lambda site: (site.node.lineno, site.node.col_offset, -_end(site.node)))
    for site in islice(sites, MAX_LITERALS):
        value = ast.literal_eval(site.node)
        kind, base = TYPES[type(value)], site.name
        if name_problem(base) or (base in taken and base != site.assigned):
            base = NAMES[kind]
        key = (kind, repr(value))
        others = (other for other, used in names.items() if used != key)
        base = unique_name(base, {*taken, *others} - {site.assigned})
        names[base] = key
        start, end = source_map.span(site.node)
        text = source_map.text[start:end].decode()
        column = len(lines[site.node.lineno - 1][: site.node.col_offset].decode(errors="replace")) + 1
        found.append(
            Literal(
                index=len(found),
                line=site.node.lineno,
                column=column,
                text=text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}...",
                value=value,
                type=kind,
                suggested_name=base,
                node=site.node,
                assigned=site.assigned if program.bindings.counts[site.assigned] == 1 else "",
            )
        )
    return found


class _Site(NamedTuple):
    """A literal, a name for it, and the variable to which the program assigns it at its top level."""

    node: ast.expr
    name: str = ""
    assigned: str = ""


def _find(tree: ast.Module) -> Iterator[_Site]:
    """Yield the literals of a tree, without recursion, because code may be nested deeply."""
    todo: list[tuple[ast.AST, str, str]] = [
        (child, "", _target(child)) for child in tree.body if not _is_docstring(child, tree)
    ]
    while todo:
        node, name, assigned = todo.pop()
        if isinstance(node, SKIPPED):
            continue
        if isinstance(node, ast.expr) and _is_literal(node):
            yield _Site(node, name, assigned)
            if (
                isinstance(node, ast.List | ast.Dict)
                and len(list(ast.iter_child_nodes(node))) > 2 * MAX_ITEMS
            ):
                continue
        todo += _children(node, name, assigned)


_Children = Iterable[tuple[ast.AST, str, str]]


def _children(node: ast.AST, name: str, assigned: str) -> _Children:
    """Return the parts of a node that may be literals, each with a name and the variable of the value."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return [(node.value, _target(node), assigned)] if node.value else []
    if isinstance(node, ast.keyword):
        return [(node.value, node.arg or name, "")]
    if isinstance(node, ast.Dict):
        return [(value, _key_name(key), "") for key, value in zip(node.keys, node.values, strict=True)]
    return [(child, "", "") for child in _other_children(node)]


def _other_children(node: ast.AST) -> Iterable[ast.AST]:
    """Return the parts of a node, without those that must stay as they are."""
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.Attribute):
        return [] if isinstance(node.value, ast.Constant) else [node.value]
    if isinstance(node, ast.arg) or (isinstance(node, ast.UnaryOp) and _is_literal(node)):
        return []
    if isinstance(node, ast.Call):
        is_key = isinstance(node.func, ast.Attribute) and node.func.attr in KEY_METHODS
        return [node.func, *node.args[is_key:], *node.keywords]
    annotation = getattr(node, "returns", None)
    children = ast.iter_child_nodes(node)
    return [child for child in children if child is not annotation and not _is_docstring(child, None)]


def _is_literal(node: ast.expr) -> bool:
    """Return whether a node is a literal that JSON can express."""
    if isinstance(node, ast.Constant):
        return type(node.value) in TYPES and is_json(node.value) and _fits(node.value)
    if isinstance(node, ast.UnaryOp):
        is_number = isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float)
        return isinstance(node.op, ast.USub) and is_number and _is_literal(node.operand)
    return isinstance(node, ast.List | ast.Dict) and _is_literal_container(node)


def _is_literal_container(node: ast.List | ast.Dict) -> bool:
    """Return whether all items of a list or dict are literals, and nothing is nested deeply."""
    todo: list[tuple[ast.expr | None, int]] = [(node, 0)]
    while todo:
        item, depth = todo.pop()
        if isinstance(item, ast.List) and depth < MAX_ITEMS:
            todo += [(child, depth + 1) for child in item.elts]
        elif isinstance(item, ast.Dict) and depth < MAX_ITEMS:
            if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in item.keys):
                return False
            todo += [(child, depth + 1) for child in item.values]
        elif not (item is not None and (_is_null(item) or _is_plain(item))):
            return False
    return True


def _is_null(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_plain(node: ast.expr) -> bool:
    """Return whether a node is a literal that contains no others."""
    return not isinstance(node, ast.List | ast.Dict) and _is_literal(node)


def _fits(value: Any) -> bool:
    """Return whether an integer has at most 64 bits, as stored tools require."""
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _target(node: ast.AST) -> str:
    """Return the only variable that a statement assigns to, or an empty string."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    is_annotated = isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    return node.target.id if is_annotated else ""  # type: ignore[attr-defined]


def _key_name(key: ast.expr | None) -> str:
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


def _is_docstring(node: ast.AST, tree: ast.Module | None) -> bool:
    """Return whether a statement is only a text that has no effect."""
    is_text = (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
    return is_text and (tree is None or node is not tree.body[-1])


def _end(node: ast.expr) -> int:
    return (node.end_lineno or 0) * 1_000_000 + (node.end_col_offset or 0)
