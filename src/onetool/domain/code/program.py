"""Parsing of model-written code for the `run` tool."""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from onetool.domain.errors import OneToolError

from .names import Names, find_names
from .source_map import Edit, SourceMap, Span, apply_edits, quote_line
from .str_calls import replace_str_calls

FENCE = re.compile(r"\A\s*```[^\n]*\n(.*?)\n?```\s*\Z", re.S)
MAX_LENGTH = 100_000
MAX_NODES = 50_000
MAX_F_STRINGS = 500
"""The limits bound the time that parsing takes: it happens outside of the sandbox."""
REWRITTEN = (ast.Return, ast.Import, ast.ImportFrom)
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
    nodes: Sequence[ast.AST]
    """The nodes of its syntax tree."""
    names: frozenset[str]
    """Every name in the code, including packs and aliases."""
    bindings: Names
    """Where the code binds names, and which it only uses."""
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
    nodes = _list_nodes(tree)
    source_map = SourceMap(code)
    edits = list(replace_str_calls(tree, nodes, source_map))
    if any(isinstance(node, REWRITTEN) for node in nodes):
        edits += _rewrite(tree, packs, source_map)
    source = code
    if edits:
        source = apply_edits(source_map.text, edits)
        tree, source_map = _parse(source), SourceMap(source)
        nodes = list(ast.walk(tree))
    return Program(
        code=code,
        source=source,
        nodes=nodes,
        names=frozenset(node.id for node in nodes if isinstance(node, ast.Name)),
        bindings=find_names(tree),
        attributes=frozenset(
            (node.value.id, node.attr)
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        ),
        awaited_calls=frozenset(source_map.span(call) for call in _find_awaited_calls(nodes)),
    )


def _parse(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        line = error.lineno or 1
        raise InvalidProgram(f"line {line}: {error.msg}{quote_line(source, line)}") from None
    except (ValueError, MemoryError) as error:
        raise InvalidProgram(f"line 1: the code is not valid Python: {error}") from None


def _list_nodes(tree: ast.Module) -> list[ast.AST]:
    """Return the nodes of a tree.

    Raises:
        InvalidProgram: It has too many nodes or f-strings.
    """
    nodes = list(islice(ast.walk(tree), MAX_NODES + 1))
    if len(nodes) > MAX_NODES:
        message = f"the code has more than {MAX_NODES:,} values, names and operators"
        raise InvalidProgram(f"line 1: {message}; read large data with a tool")
    if sum(isinstance(node, ast.JoinedStr) for node in nodes) > MAX_F_STRINGS:
        raise InvalidProgram(f"line 1: the code has more than {MAX_F_STRINGS:,} f-strings; use a loop")
    return nodes


def _rewrite(tree: ast.Module, packs: frozenset[str], source_map: SourceMap) -> Iterator[Edit]:
    """Yield edits of statements. They preserve the number of lines, so that line numbers do not change."""
    for statement in _top_level_statements(tree):
        if isinstance(statement, ast.Return):
            yield from _rewrite_return(statement, tree, source_map)
        elif new := _rewrite_import(statement, packs):
            yield source_map.replace(*source_map.span(statement), new.encode())


def _rewrite_import(statement: ast.stmt, packs: frozenset[str]) -> str:
    """Return a statement that replaces the import of a pack, or an empty string."""
    if isinstance(statement, ast.Import) and packs & {alias.name for alias in statement.names}:
        return "; ".join(_rewrite_alias(alias, packs) for alias in statement.names)
    if isinstance(statement, ast.ImportFrom) and statement.module in packs:
        module = statement.module
        return "; ".join(f"{alias.asname or alias.name} = {module}.{alias.name}" for alias in statement.names)
    return ""


def _rewrite_alias(alias: ast.alias, packs: frozenset[str]) -> str:
    if alias.name not in packs:
        return f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
    return f"{alias.asname} = {alias.name}" if alias.asname else "pass"


def _rewrite_return(statement: ast.Return, tree: ast.Module, source_map: SourceMap) -> Iterator[Edit]:
    if statement is not tree.body[-1]:
        message = "return is allowed only as the last statement; use a function, or if and else"
        raise InvalidProgram(f"line {statement.lineno}: {message}")
    start, end = source_map.span(statement)
    if statement.value is None:
        yield start, end, b"None"
        return
    value_start, value_end = source_map.span(statement.value)
    yield source_map.replace(start, value_start, b"(")
    yield source_map.replace(value_end, end, b")")


def _top_level_statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement that is not inside a function or a class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _top_level_statements(node)


def _find_awaited_calls(nodes: Sequence[ast.AST]) -> Iterator[ast.Call]:
    """Yield calls that are awaited, passed to a task function, or assigned to a name that is."""
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
