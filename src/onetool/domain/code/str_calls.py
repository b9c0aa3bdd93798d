"""Replaces `str(x)` and the values of f-strings by calls of a function that the sandbox defines.

In the sandbox the results of tools are plain dicts and lists, so their own `__str__` is lost.
"""

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import TypeGuard

from .source_map import Edit, SourceMap

STR_FUNCTION = "onetool_str"
STR_CONVERSIONS = (-1, ord("s"))


def replace_str_calls(tree: ast.Module, nodes: Sequence[ast.AST], source_map: SourceMap) -> Iterator[Edit]:
    """Yield edits, which preserve the lines, so that `STR_FUNCTION` converts values to strings."""
    if any(isinstance(node, ast.JoinedStr) or _is_str_call(node) for node in nodes):
        is_renamed = _assigns_str(nodes)
        for node in _outermost(tree):
            if edit := _edit(node, source_map, is_renamed):
                yield edit


def _outermost(tree: ast.Module) -> Iterator[ast.JoinedStr | ast.Call]:
    """Yield f-strings and calls of `str`, but nothing inside of f-strings: those nodes have no position."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.JoinedStr):
            yield node
            continue
        if _is_str_call(node):
            yield node
        todo += ast.iter_child_nodes(node)


def _edit(node: ast.JoinedStr | ast.Call, source_map: SourceMap, is_renamed: bool) -> Edit | None:
    if isinstance(node, ast.JoinedStr):
        return _edit_f_string(node, source_map, is_renamed)
    return None if is_renamed else (*source_map.span(node.func), STR_FUNCTION.encode())


def _edit_f_string(node: ast.JoinedStr, source_map: SourceMap, is_renamed: bool) -> Edit | None:
    """Return the f-string with its values converted, or None if that cannot be written on the same lines."""
    new = _StrConverter(is_renamed).visit(copy.deepcopy(node))
    if ast.dump(new) == ast.dump(node):
        return None
    start, end = source_map.span(node)
    try:
        text = ast.unparse(new)
        is_same = ast.dump(ast.parse(text, mode="eval").body) == ast.dump(new)
    except (ValueError, SyntaxError):  # Python 3.11 allows no backslash or equal quotes inside of the braces
        return None
    missing = source_map.text[start:end].count(b"\n") - text.count("\n")
    return (start, end, f"({text}{chr(10) * missing})".encode()) if is_same and missing >= 0 else None


class _StrConverter(ast.NodeTransformer):
    """Converts the values of an f-string that have neither a format nor another conversion than `!s`."""

    def __init__(self, is_renamed: bool) -> None:
        self._is_renamed = is_renamed

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        if node.conversion in STR_CONVERSIONS and node.format_spec is None:
            node.value = ast.Call(ast.Name(STR_FUNCTION, ast.Load()), [node.value], [])
            node.conversion = -1
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _is_str_call(node) and not self._is_renamed:
            node.func = ast.Name(STR_FUNCTION, ast.Load())
        return node


def _is_str_call(node: ast.AST) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "str":
        return False
    return len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)


def _assigns_str(nodes: Sequence[ast.AST]) -> bool:
    """Whether the code gives the name `str` another meaning."""
    for node in nodes:
        names = (getattr(node, "name", ""), getattr(node, "arg", ""), getattr(node, "asname", ""))
        is_target = isinstance(node, ast.Name) and node.id == "str" and not isinstance(node.ctx, ast.Load)
        if is_target or ("str" in names and not isinstance(node, ast.keyword)):
            return True
    return False
