"""Mutations: small changes of the source code that a good test suite notices."""

import ast
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
SKIPPED_CALLS = frozenset({"debug", "info", "warning", "error", "exception", "log"})
"""Log statements: what they write is checked only where it matters."""


class Mutation(NamedTuple):
    """One change of one file."""

    path: Path
    line: int
    before: str
    after: str
    source: str
    """The whole file after the change."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {_one_line(self.before)}  ->  {_one_line(self.after)}"


def find_mutations(path: Path) -> Iterator[Mutation]:
    """Yield every mutation of a file.

    Strings, annotations, log statements and module-level constants are left unchanged: texts and tuning
    values may differ without a defect.
    """
    source = path.read_text(encoding="utf-8")
    for node, replacement in _Visitor().find(ast.parse(source)):
        before = ast.get_source_segment(source, node)
        after = "pass" if replacement is None else ast.unparse(ast.fix_missing_locations(replacement))
        if before is None or before == after:
            continue
        changed = _replace(source, node, _parenthesized(node, after))
        if _compiles(changed):
            yield Mutation(path, node.lineno, before, after, changed)


class _Visitor:
    """Collects nodes with what replaces them; None deletes a statement."""

    def find(self, tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST | None]]:
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from self._definition(node)

    def _definition(self, node: ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST | None]]:
        if isinstance(node, ast.ClassDef):
            is_protocol = any("Protocol" in ast.unparse(base) for base in node.bases)
            functions = [] if is_protocol else node.body
        else:
            functions = [node]
        for function in functions:
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_overload(function):
                for statement in function.body:
                    yield from self._visit(statement)
            elif isinstance(function, ast.ClassDef):
                yield from self._definition(function)

    def _visit(self, node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST | None]]:
        if isinstance(node, ast.Expr) and (_is_docstring(node) or _is_log(node)):
            return
        if isinstance(node, ast.expr | ast.stmt):
            yield from ((node, replacement) for replacement in _replacements(node))
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_comment"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from self._visit(child)


def _replacements(node: ast.AST) -> Iterator[ast.AST | None]:  # noqa: C901 - one case a kind of node
    match node:
        case ast.Compare(ops=[operator]):
            yield _changed(node, ops=[COMPARISONS[type(operator)]()])
        case ast.BoolOp():
            yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.BinOp() if type(node.op) in ARITHMETIC and not isinstance(node.right, ast.JoinedStr):
            yield _changed(node, op=ARITHMETIC[type(node.op)]())
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.IfExp():
            yield _changed(node, body=node.orelse, orelse=node.body)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.Return(value=ast.expr()) if not _is_none(node.value):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield None
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield None
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _parenthesized(node: ast.AST, text: str) -> str:
    return (
        f"({text})"
        if isinstance(node, ast.BoolOp | ast.BinOp | ast.IfExp | ast.Compare | ast.UnaryOp)
        else text
    )


def _replace(source: str, node: ast.expr | ast.stmt, text: str) -> str:
    lines = source.splitlines(keepends=True)
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    head = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    tail = lines[end_line - 1].encode()[end_column:].decode()
    return "".join([*lines[: node.lineno - 1], head, text, tail, *lines[end_line:]])


def _compiles(source: str) -> bool:
    try:
        compile(source, "<mutation>", "exec")
    except SyntaxError:
        return False
    return True


def _is_overload(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("overload" in ast.unparse(decorator) for decorator in function.decorator_list)


def _is_docstring(node: ast.Expr) -> bool:
    return isinstance(node.value, ast.Constant)


def _is_log(node: ast.Expr) -> bool:
    call = node.value
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in SKIPPED_CALLS
    )


def _is_none(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _one_line(text: str) -> str:
    short = " ".join(text.split())
    return short if len(short) <= 60 else f"{short[:57]}..."
