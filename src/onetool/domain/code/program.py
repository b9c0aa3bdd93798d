"""Parsing of model-written code for the `run` tool."""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from onetool.domain.errors import OneToolError

from .source_map import Edit, SourceMap, Span, apply_edits, quote_line
from .str_calls import replace_str_calls

FENCE = re.compile(r"\A\s*```[^\n]*\n(.*?)\n?```\s*\Z", re.S)
MAX_LENGTH = 100_000
MAX_NODES = 50_000
MAX_F_STRINGS = 500
"""The limits bound the time that parsing takes: it happens outside of the sandbox."""
TASK_FUNCTIONS = frozenset({"gather", "create_task", "ensure_future"})


class InvalidProgram(OneToolError):
    """The code cannot be run; the message names the line."""


@dataclass(frozen=True, slots=True)
class Program:
    """Code that is ready to run, with the line numbers of the original."""

    code: str
    """The original."""
    source: str
    """What the sandbox runs."""
    names: frozenset[str]
    """Every name in the code, including packs and aliases."""
    variables: frozenset[str]
    """Names that the code assigns."""
    attributes: frozenset[tuple[str, str]]
    """Names with an attribute that the code uses, such as a pack and its function."""
    awaited_calls: frozenset[Span]
    """Calls that are awaited or scheduled as tasks, and may therefore run concurrently."""


def parse_program(code: str, packs: Collection[str]) -> Program:
    """Parse code, with or without a Markdown code fence.

    A final `return` becomes the result, and imports of packs are removed because packs are predefined.

    Raises:
        InvalidProgram: The code is too long, too complex or not valid Python.
    """
    if len(code) > MAX_LENGTH:
        raise InvalidProgram(f"line 1: the code is longer than {MAX_LENGTH} characters")
    match = FENCE.match(code)
    try:
        return _build_program(match[1] if match else code, frozenset(packs))
    except RecursionError:
        raise InvalidProgram("line 1: the code is nested too deeply") from None


def _build_program(code: str, packs: frozenset[str]) -> Program:
    tree = _parse(code)
    _check_size(tree)
    source = _rewrite(code, tree, packs)
    source = replace_str_calls(source, _parse(source))
    tree = _parse(source)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]
    names = [node for node in nodes if isinstance(node, ast.Name)]
    source_map = SourceMap(source)
    return Program(
        code=code,
        source=source,
        names=frozenset(name.id for name in names),
        variables=frozenset(name.id for name in names if isinstance(name.ctx, ast.Store)),
        attributes=frozenset(
            (node.value.id, node.attr)
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        ),
        awaited_calls=frozenset(source_map.span(call) for call in _find_awaited_calls(tree)),
    )


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        line = error.lineno or 1
        raise InvalidProgram(f"line {line}: {error.msg}{quote_line(source, line)}") from None
    except (ValueError, MemoryError) as error:
        raise InvalidProgram(f"line 1: the code is not valid Python: {error}") from None


def _check_size(tree: ast.Module) -> None:
    """Check that the code is not too complex.

    Raises:
        InvalidProgram: It has too many nodes or f-strings.
    """
    f_strings = 0
    for nodes, node in enumerate(ast.walk(tree), 1):
        f_strings += isinstance(node, ast.JoinedStr)
        if nodes > MAX_NODES:
            message = f"the code has more than {MAX_NODES:,} values, names and operators"
            raise InvalidProgram(f"line 1: {message}; read large data with a tool")
        if f_strings > MAX_F_STRINGS:
            raise InvalidProgram(f"line 1: the code has more than {MAX_F_STRINGS:,} f-strings; use a loop")


def _rewrite(source: str, tree: ast.Module, packs: frozenset[str]) -> str:
    """Replace statements by others with the same number of lines, so that line numbers do not change."""
    source_map, edits = SourceMap(source), list[Edit]()
    for statement in _top_level_statements(tree):
        new = _replacement(statement, tree, packs, source_map)
        if new is not None:
            start, end = source_map.span(statement)
            missing = source_map.text[start:end].count(b"\n") - new.count(b"\n")
            edits.append((start, end, new + b"\n" * missing))
    return apply_edits(source_map.text, edits)


def _replacement(
    statement: ast.stmt, tree: ast.Module, packs: frozenset[str], source_map: SourceMap
) -> bytes | None:
    if isinstance(statement, ast.Return):
        return _return_value(statement, tree, source_map)
    if isinstance(statement, ast.Import) and packs & {alias.name for alias in statement.names}:
        return "; ".join(_rewrite_import(alias, packs) for alias in statement.names).encode()
    if isinstance(statement, ast.ImportFrom) and statement.module in packs:
        assignments = (
            f"{alias.asname or alias.name} = {statement.module}.{alias.name}" for alias in statement.names
        )
        return "; ".join(assignments).encode()
    return None


def _rewrite_import(alias: ast.alias, packs: frozenset[str]) -> str:
    if alias.name not in packs:
        return f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
    return f"{alias.asname} = {alias.name}" if alias.asname else "pass"


def _return_value(statement: ast.Return, tree: ast.Module, source_map: SourceMap) -> bytes:
    if statement is not tree.body[-1]:
        message = "return is allowed only as the last statement; use a function, or if and else"
        raise InvalidProgram(f"line {statement.lineno}: {message}")
    if statement.value is None:
        return b"None"
    start, end = source_map.span(statement.value)
    return b"(" + source_map.text[start:end] + b")"


def _top_level_statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement that is not inside a function or a class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _top_level_statements(node)


def _find_awaited_calls(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield calls that are awaited, passed to a task function, or assigned to a name that is."""
    nodes = list(ast.walk(tree))
    awaited: list[ast.expr] = [node.value for node in nodes if isinstance(node, ast.Await)]
    for call in nodes:
        if isinstance(call, ast.Call) and _function_name(call) in TASK_FUNCTIONS:
            awaited += [arg.value if isinstance(arg, ast.Starred) else arg for arg in call.args]
    names = {expression.id for expression in awaited if isinstance(expression, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and names & {getattr(target, "id", "") for target in node.targets}:
            awaited.append(node.value)
    for expression in awaited:
        yield from _outermost_calls(expression)


def _function_name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _outermost_calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that produce the awaited value; calls in their arguments must finish first."""
    if isinstance(node, ast.Call):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _outermost_calls(child)
