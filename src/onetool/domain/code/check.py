"""Finds mistakes in a program before it runs: unknown names and tools, wrong arguments, a missing `await`."""

import ast
import builtins
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from onetool.domain.text.strings import pluralize
from onetool.domain.text.suggestions import did_you_mean

from .sandbox import IMPORTABLE_MODULES, UNAVAILABLE, SandboxJob
from .source_map import quote_line
from .str_calls import STR_FUNCTION

MAX_PROBLEMS = 5
MAX_ALIASES = 8
"""Maximum number of assignments to follow, such as `a = pack.func; b = a`."""
DYNAMIC_FUNCTIONS = frozenset({"eval", "exec", "globals", "locals", "vars"})
"""Functions that may bind names at run time. Programs that use them are not checked."""
MISSING_BUILTINS = frozenset(
    {
        *("aiter", "anext", "ascii", "breakpoint", "bytearray", "callable", "classmethod", "compile"),
        *("copyright", "credits", "delattr", "dir", "exit", "globals", "help", "input", "issubclass"),
        *("license", "memoryview", "open", "quit", "staticmethod", "super", "vars"),
    }
)
"""Built-in functions of Python that the sandbox lacks, and `open`, because there are no files."""
BUILTINS = frozenset(dir(builtins)) - MISSING_BUILTINS
BUILTIN_SIMILARITY = 75.0
"""Minimum similarity of suggestions. A name that is only a little similar means something else."""
JSON_LITERALS = {"null": "None", "true": "True", "false": "False"}
AWAITABLES = frozenset({"gather", "sleep"})
"""Functions of asyncio whose result does nothing until it is awaited."""


class _Problem(NamedTuple):
    """A position, and a function that explains the problem for a hashable subject."""

    line: int
    column: int
    explain: Callable[[Any], str]
    subject: Any


class _Mismatch(NamedTuple):
    """How the arguments of a call differ from the parameters of its tool."""

    tool: str
    positional: int = 0
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def check_program(job: SandboxJob) -> str:
    """Return what is certainly wrong with a program, or an empty string.

    Each problem has its line, the source of the line, and the closest name or the signature. Nothing is
    reported about a name that the program may have bound to another value.
    """
    if job.program.names & DYNAMIC_FUNCTIONS:
        return ""
    problems = sorted(_Checker(job).find_problems(), key=lambda problem: problem[:2])
    unique = dict.fromkeys((problem.line, problem.explain, problem.subject) for problem in problems)
    return "\n".join(
        f"line {line}: {explain(subject)}{quote_line(job.program.code, line)}"
        for line, explain, subject in islice(unique, MAX_PROBLEMS)
    )


def explain_undefined(name: str, job: SandboxJob) -> str:
    """Return why a name is not defined, and what to write instead."""
    if reason := job.known_names.get(name):
        return f"{name!r} is unavailable: {reason}"
    if name in IMPORTABLE_MODULES:
        return f"{name!r} is not defined. Add the line: import {name}"
    if name in MISSING_BUILTINS:
        return f"{name!r} is not defined. {UNAVAILABLE}"
    if name in JSON_LITERALS:
        return f"{name!r} is not defined. Did you mean {JSON_LITERALS[name]}?"
    bound = job.program.bindings.counts
    if name in bound:
        return f"{name!r} is not defined here, only inside of a function, class or comprehension."
    suggestion = did_you_mean(name, {*job.known_names, *job.variables, *bound} - {name})
    suggestion = suggestion or did_you_mean(name, BUILTINS, min_similarity=BUILTIN_SIMILARITY)
    return f"{name!r} is not defined.{suggestion}"


class _Checker:
    """Finds the problems of one program."""

    def __init__(self, job: SandboxJob) -> None:
        self._job, self._bindings = job, job.program.bindings
        self._free = set(self._bindings.free)

    def find_problems(self) -> Iterator[_Problem]:
        for name in self._bindings.free:
            if not self._is_defined(name.id):
                yield _Problem(name.lineno, name.col_offset, self._explain_undefined, name.id)
        for node in self._job.program.nodes:
            if isinstance(node, ast.Attribute):
                yield from self._check_attribute(node)
            elif isinstance(node, ast.Call):
                yield from self._check_call(node)
            elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                yield from self._check_statement(node.value)

    def _is_defined(self, name: str) -> bool:
        job = self._job
        if name in BUILTINS or name in job.modules or name in job.aliases or name in job.variables:
            return True
        return (
            name == STR_FUNCTION or _is_dunder(name) or "*" in self._bindings.counts
        )  # `from module import *`

    def _check_attribute(self, node: ast.Attribute) -> Iterator[_Problem]:
        pack = self._resolve(node.value)
        if pack not in self._job.modules or not isinstance(node.ctx, ast.Load) or _is_dunder(node.attr):
            return
        if node.attr not in self._job.modules[pack]:
            yield _Problem(node.lineno, node.col_offset, self._explain_tool, (pack, node.attr))

    def _check_call(self, node: ast.Call) -> Iterator[_Problem]:
        name = self._resolve(node.func)
        if name not in self._job.tools:
            return
        tool, keywords = self._job.tools[name], [keyword.arg for keyword in node.keywords]
        known = {*tool.required, *tool.optional}
        positional = [arg for arg in node.args if not isinstance(arg, ast.Starred)]
        unknown = () if tool.accepts_more else tuple(arg for arg in keywords if arg and arg not in known)
        is_unclear = None in keywords or node.args  # `**args`, or values that lack their names
        missing = () if is_unclear else tuple(arg for arg in tool.required if arg not in keywords)
        if positional or unknown or missing:
            mismatch = _Mismatch(name, len(positional), missing, unknown)
            yield _Problem(node.lineno, node.col_offset, self._explain_mismatch, mismatch)

    def _check_statement(self, call: ast.Call) -> Iterator[_Problem]:
        """Check that the statement is not a coroutine, which does nothing."""
        function = call.func
        if isinstance(function, ast.Name) and isinstance(self._value(function.id), ast.AsyncFunctionDef):
            yield _Problem(call.lineno, call.col_offset, _explain_coroutine, function.id)
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            module = self._value(function.value.id)
            is_asyncio = isinstance(module, ast.alias) and module.name == "asyncio"
            if is_asyncio and function.attr in AWAITABLES:
                name = f"{function.value.id}.{function.attr}"
                yield _Problem(call.lineno, call.col_offset, _explain_coroutine, name)

    def _resolve(self, node: ast.AST | None, depth: int = 0) -> str:
        """Return the pack or `pack.func` that an expression certainly refers to, or an empty string."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            pack = self._resolve(node.value, depth)
            return f"{pack}.{node.attr}" if pack in self._job.modules else ""
        if not isinstance(node, ast.Name) or depth > MAX_ALIASES:
            return ""
        if node in self._free:
            return self._job.aliases.get(node.id, node.id)
        return self._resolve(self._value(node.id), depth + 1)

    def _value(self, name: str) -> ast.AST | None:
        """Return what binds a name, if the program binds it exactly once."""
        return self._bindings.values.get(name) if self._bindings.counts[name] == 1 else None

    def _explain_undefined(self, name: str) -> str:
        return explain_undefined(name, self._job)

    def _explain_tool(self, subject: tuple[str, str]) -> str:
        pack, name = subject
        tools = [f"{pack}.{function}" for function in self._job.modules[pack]]
        return f"there is no tool {pack}.{name}.{did_you_mean(f'{pack}.{name}', tools)}"

    def _explain_mismatch(self, mismatch: _Mismatch) -> str:
        tool, function = self._job.tools[mismatch.tool], mismatch.tool.partition(".")[2]
        parameters = [*tool.required, *tool.optional]
        texts = [
            f"No argument provided for required parameter `{name}` of function `{function}`."
            for name in mismatch.missing
        ]
        texts += [
            f"Argument `{name}` does not match any known parameter of function `{function}`."
            f"{did_you_mean(name, parameters)}"
            for name in mismatch.unknown[:MAX_PROBLEMS]
        ]
        if mismatch.positional:
            example = f", such as {mismatch.tool}({parameters[0]}=...)" if parameters else ""
            count = pluralize(mismatch.positional, "positional argument")
            texts.append(f"{mismatch.tool} takes keyword arguments only{example}. It got {count}.")
        return f"{' '.join(texts)} Signature: {tool.signature()}"


def _explain_coroutine(function: str) -> str:
    return f"{function}() is not awaited, so it does nothing. Write: await {function}(...)"


def _is_dunder(name: str) -> bool:
    return name.startswith("__")
