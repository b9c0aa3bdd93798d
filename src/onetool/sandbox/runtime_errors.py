"""Messages for exceptions that sandboxed code raised: the line, its source, and the shape of the value."""

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from onetool.domain.code.sandbox import SandboxJob
from onetool.domain.code.shape import describe_shape
from onetool.domain.code.source_map import quote_line

from .diagnostics import UNAVAILABLE

SHAPE_ERRORS = (KeyError, IndexError, TypeError, AttributeError)
"""Exceptions that usually mean that a value has another shape than expected."""

Evaluate = Callable[[str], Any]
"""Returns the value of an expression after the code failed. Raises LookupError if there is none."""


def explain_error(
    raised: BaseException, frames: Sequence[Any], job: SandboxJob, evaluate: Evaluate
) -> tuple[str, str]:
    """Return the message for the author of the code, and the name of the exception's type.

    `frames` is the part of the traceback that is in the program.
    """
    name = type(raised).__name__
    hint = f" {UNAVAILABLE}" if isinstance(raised, NotImplementedError) else ""
    message = f"{name}: {raised}{hint}"
    if not frames:
        return message, name
    line = frames[-1].line
    shape = _shape(frames[-1], job, evaluate) if isinstance(raised, SHAPE_ERRORS) else ""
    return f"line {line}: {message}{quote_line(job.program.code, line)}{shape}", name


def _shape(frame: Any, job: SandboxJob, evaluate: Evaluate) -> str:
    """Describe the value that was indexed, or whose attribute was read, if it is a global variable."""
    if frame.function_name not in (None, "<module>") or frame.line != frame.end_line:
        return ""
    source = job.program.source.split("\n")[frame.line - 1]
    for operand in _operands(source[frame.column - 1 : frame.end_column - 1], job):
        with suppress(LookupError):
            return f"\n{operand}: {describe_shape(evaluate(operand))}"
    return ""


def _operands(failed: str, job: SandboxJob) -> Iterator[str]:
    """Yield the values in the failed expression that can be evaluated again without a call."""
    try:
        tree = ast.parse(failed, mode="eval")
    except SyntaxError:
        return
    iterables = _comprehension_iterables(job)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute):
            root = _root(node.value)
            operand = iterables.get(root, ast.unparse(node.value) if root else "")
            if operand and root not in job.modules:
                yield operand


def _root(node: ast.expr) -> str:
    """Return the variable of `x`, `x["key"]` or `x[0]["key"]`; empty for any other expression."""
    while isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _comprehension_iterables(job: SandboxJob) -> dict[str, str]:
    """Return what the variables of comprehensions iterate over, or an empty string if it is a call.

    Outside of the comprehension the variables may have another meaning.
    """
    return {
        node.target.id: ast.unparse(node.iter) if _root(node.iter) else ""
        for node in ast.walk(ast.parse(job.program.source))
        if isinstance(node, ast.comprehension) and isinstance(node.target, ast.Name)
    }
