"""Code that a model wrote, made ready to run: what it names, where it waits, what its last line says."""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .errors import OneToolError

FENCE = re.compile(r"\A\s*```[^\n]*\n(.*?)\n?```\s*\Z", re.S)
LONGEST = 100_000
GATHERING = frozenset({"gather", "create_task", "ensure_future"})

Span = tuple[int, int]
"""Start and end of a piece of source, in bytes."""


class InvalidProgram(OneToolError):
    """The code cannot run as it stands; the message names the line."""


@dataclass(frozen=True, slots=True)
class Program:
    """Source whose line numbers are the author's."""

    source: str
    names: frozenset[str]
    """Every name that the code reads; packs and aliases are among them."""
    waits: frozenset[Span]
    """Where the calls stand that are awaited or gathered: they may run beside each other."""


def parse_program(code: str, packs: Collection[str]) -> Program:
    """Strip a code fence, let a last `return` be the result, drop imports of packs: those are there already.

    Raises InvalidProgram when it is not Python.
    """
    if len(code) > LONGEST:
        raise InvalidProgram(f"line 1: the code is longer than {LONGEST} characters")
    match = FENCE.match(code)
    try:
        return _read(match[1] if match else code, frozenset(packs))
    except RecursionError:
        raise InvalidProgram("line 1: the code is nested too deeply") from None


def _read(written: str, packs: frozenset[str]) -> Program:
    source = _edited(written, _parse(written), packs)
    tree = _parse(source)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    lines = _Lines(source)
    return Program(source, frozenset(names), frozenset(lines.span(call) for call in _waiting_calls(tree)))


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise InvalidProgram(f"line {error.lineno or 1}: {error.msg}") from None
    except (ValueError, MemoryError) as error:
        raise InvalidProgram(f"line 1: this cannot be read as Python: {error}") from None


class _Lines:
    """Finds a node of the tree in the bytes of its source."""

    def __init__(self, source: str) -> None:
        self.text = source.encode()
        self._starts = [0]
        for line in self.text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> Span:
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)


def _edited(source: str, tree: ast.Module, packs: frozenset[str]) -> str:
    """Replace statements by others of as many lines, so that line numbers stay."""
    lines = _Lines(source)
    text = lines.text
    for statement in reversed(list(_statements(tree))):
        start, end = lines.span(statement)
        new = _replacement(statement, tree, packs, lines)
        if new is not None:
            missing = text[start:end].count(b"\n") - new.count(b"\n")
            text = text[:start] + new + b"\n" * missing + text[end:]
    return text.decode()


def _replacement(statement: ast.stmt, tree: ast.Module, packs: frozenset[str], lines: _Lines) -> bytes | None:
    if isinstance(statement, ast.Return):
        return _as_result(statement, tree, lines)
    if isinstance(statement, ast.Import) and packs & {alias.name for alias in statement.names}:
        return "; ".join(_import(alias, packs) for alias in statement.names).encode()
    if isinstance(statement, ast.ImportFrom) and statement.module in packs:
        taken = (
            f"{alias.asname or alias.name} = {statement.module}.{alias.name}" for alias in statement.names
        )
        return "; ".join(taken).encode()
    return None


def _import(alias: ast.alias, packs: frozenset[str]) -> str:
    if alias.name not in packs:
        return f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
    return f"{alias.asname} = {alias.name}" if alias.asname else "pass"


def _as_result(statement: ast.Return, tree: ast.Module, lines: _Lines) -> bytes:
    if statement is not tree.body[-1]:
        message = "return ends the code only as its last line; put the rest in a function, or use if and else"
        raise InvalidProgram(f"line {statement.lineno}: {message}")
    if statement.value is None:
        return b"None"
    start, end = lines.span(statement.value)
    return b"(" + lines.text[start:end] + b")"


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Every statement that is not inside a function or a class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _statements(node)


def _waiting_calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls that are awaited, gathered, or kept in a name that is."""
    nodes = list(ast.walk(tree))
    waited: list[ast.expr] = [node.value for node in nodes if isinstance(node, ast.Await)]
    for call in nodes:
        if isinstance(call, ast.Call) and _called(call) in GATHERING:
            waited += [arg.value if isinstance(arg, ast.Starred) else arg for arg in call.args]
    kept = {part.id for part in waited if isinstance(part, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and kept & {getattr(target, "id", "") for target in node.targets}:
            waited.append(node.value)
    for part in waited:
        yield from _outermost_calls(part)


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _outermost_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Calls whose value is the awaited one; what stands in their arguments is needed at once."""
    if isinstance(node, ast.Call):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _outermost_calls(child)
