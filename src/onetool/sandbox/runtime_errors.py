"""Messages for exceptions that sandboxed code raised: the line, its source, and the shape of the value."""

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeGuard

from onetool.domain.code.sandbox import SandboxJob
from onetool.domain.code.shape import describe_shape
from onetool.domain.code.source_map import quote_line

from .diagnostics import UNAVAILABLE

SHAPE_ERRORS = (KeyError, IndexError, TypeError, AttributeError)
"""Exceptions that usually mean that a value has another shape than expected."""

ReadVariable = Callable[[str], Any]
"""Returns the value of a global variable after the code failed. Raises LookupError if there is none."""
MAX_INDEX = 2**31
"""Python cannot write every larger integer."""


class Operand(NamedTuple):
    """A global variable, or a part of it that constant subscripts select, such as `x["key"][0]`."""

    variable: str
    subscripts: tuple[str | int, ...] = ()

    def __str__(self) -> str:
        return self.variable + "".join(f"[{subscript!r}]" for subscript in self.subscripts)


def explain_error(
    raised: BaseException, frames: Sequence[Any], job: SandboxJob, read_variable: ReadVariable
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
    shape = _shape(frames[-1], job, read_variable) if isinstance(raised, SHAPE_ERRORS) else ""
    return f"line {line}: {message}{quote_line(job.program.code, line)}{shape}", name


def _shape(frame: Any, job: SandboxJob, read_variable: ReadVariable) -> str:
    """Describe the value that was indexed, or whose attribute was read, if it is a global variable."""
    if frame.function_name not in (None, "<module>") or frame.line != frame.end_line:
        return ""
    source = job.program.source.split("\n")[frame.line - 1]
    for operand in _operands(source[frame.column - 1 : frame.end_column - 1], job):
        with suppress(LookupError):
            return f"\n{operand}: {describe_shape(_value(operand, read_variable))}"
    return ""


def _value(operand: Operand, read_variable: ReadVariable) -> Any:
    """Return the value of an operand.

    The subscripts are applied here: in the sandbox they could run code of the program again.
    """
    value = read_variable(operand.variable)
    for subscript in operand.subscripts:
        if not isinstance(value, dict if isinstance(subscript, str) else dict | list | tuple | str):
            raise LookupError(subscript)
        value = value[subscript]
    return value


def _operands(failed: str, job: SandboxJob) -> Iterator[Operand]:
    """Yield the values in the failed expression that can be read again without running code."""
    try:
        tree = ast.parse(failed, mode="eval")
    except SyntaxError:
        return
    iterables = _comprehension_iterables(job)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute):
            operand = _to_operand(node.value)
            if operand and operand.variable in iterables:
                operand = iterables[operand.variable]
            if operand and operand.variable not in job.modules:
                yield operand


def _to_operand(node: ast.expr) -> Operand | None:
    """Return the operand of `x`, `x["key"]` or `x[0]["key"]`; None for any other expression."""
    subscripts: list[str | int] = []
    while isinstance(node, ast.Subscript):
        if not isinstance(node.slice, ast.Constant) or not _is_subscript(node.slice.value):
            return None
        subscripts.insert(0, node.slice.value)
        node = node.value
    return Operand(node.id, tuple(subscripts)) if isinstance(node, ast.Name) else None


def _is_subscript(value: Any) -> TypeGuard[str | int]:
    return isinstance(value, str) or (isinstance(value, int) and value < MAX_INDEX)


def _comprehension_iterables(job: SandboxJob) -> dict[str, Operand | None]:
    """Return what the variables of comprehensions iterate over, or None if it is a call.

    Outside of the comprehension the variables may have another meaning.
    """
    return {
        node.target.id: _to_operand(node.iter)
        for node in ast.walk(ast.parse(job.program.source))
        if isinstance(node, ast.comprehension) and isinstance(node.target, ast.Name)
    }
