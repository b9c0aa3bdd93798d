"""Messages for exceptions that sandboxed code raised: the line, its source, and the shape of the value."""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeGuard

from onetool.domain.code.check import explain_undefined
from onetool.domain.code.sandbox import UNAVAILABLE, SandboxJob
from onetool.domain.code.shape import describe_shape
from onetool.domain.code.source_map import quote_line

MODULE = "pack_{}"
"""Name of a pack's module in the sandbox. The plain name could be a module of the interpreter."""
TOOL = re.compile(MODULE.format(r"(\w+)\.(\w+)"))
NESTED_CALL = re.compile(rf"external function '{TOOL.pattern}' cannot suspend")
NESTED_CALL_MESSAGE = (
    "{} cannot be called in a function that another function calls, such as the key of sorted or max. "
    "Collect the results first, in a loop or a comprehension."
)
UNDEFINED = re.compile(r"name '(\w+)' is not defined")
UNKNOWN_MODULE = re.compile(r"No module named '([\w.]+)'")
WRONG_CALL = re.compile(r"(\w+)\(\) (?:missing|takes|got) ")
INVALID_ARGS = re.compile(r"Invalid arguments for (\w+\.\w+): ")
SHAPE_ERRORS = (KeyError, IndexError, TypeError, AttributeError)
"""Exceptions that usually mean that a value has another shape than expected."""

ReadVariable = Callable[[str], Any]
"""Returns the value of a global variable after the code failed. Raises LookupError if there is none."""
MEDIA_TYPE = re.compile(r"'Media' object|type Media\b")
MEDIA_HINT = (
    "Media only have mime_type, size and handle. Return them to show them, or pass them to a tool. "
    "ot.result(handle=...) returns them again, and `onetool run --save DIR` writes them to files."
)
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
    message = _message(raised, job)
    if not frames:
        return message, name
    line = _call_line(raised, job) or frames[-1].line
    message += _pack_hint(raised, line, job)
    shape = _shape(frames[-1], job, read_variable) if isinstance(raised, SHAPE_ERRORS) else ""
    return f"line {line}: {message}{quote_line(job.program.code, line)}{shape}", name


def explain_tool(output: Any, job: SandboxJob) -> str:
    """Return an error message if the result of the code is a tool instead of a call, else an empty string."""
    match = TOOL.fullmatch(output) if isinstance(output, str) else None
    tool = match and job.tools.get(f"{match[1]}.{match[2]}")
    return f"The result is the tool itself. Call it: {tool.signature()}" if tool else ""


def _message(raised: BaseException, job: SandboxJob) -> str:
    """Return the type and the text of an exception, and what to do about it."""
    text = str(raised).removesuffix(" (unknown location)")
    if isinstance(raised, NameError) and (match := UNDEFINED.fullmatch(text)):
        return f"NameError: name {explain_undefined(match[1], job)}"
    is_missing = isinstance(raised, ModuleNotFoundError)
    if is_missing and (match := UNKNOWN_MODULE.match(text)) and _imports(job, match[1]):
        return f"{match[1]!r} cannot be imported here. {UNAVAILABLE}"
    if isinstance(raised, NotImplementedError):
        if match := NESTED_CALL.search(text):
            return NESTED_CALL_MESSAGE.format(f"{match[1]}.{match[2]}")
        return f"NotImplementedError: {text}. {UNAVAILABLE}"
    if isinstance(raised, ValueError) and (match := INVALID_ARGS.match(text)):
        tool = job.tools.get(match[1])
        return f"ValueError: {text.rstrip('.')}" + (f". Signature: {tool.signature()}" if tool else "")
    return f"{type(raised).__name__}: {text}{_type_hint(raised, text)}"


def _imports(job: SandboxJob, module: str) -> bool:
    """Whether the program itself imports a module. Otherwise it was a tool, outside of the sandbox."""
    for node in job.program.nodes:
        if isinstance(node, ast.Import) and any(name.name == module for name in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and node.module == module:
            return True
    return False


def _type_hint(raised: BaseException, text: str) -> str:
    """Return what to do about an operation that a type lacks."""
    if not isinstance(raised, TypeError | AttributeError):
        return ""
    if MEDIA_TYPE.search(text):
        return f". {MEDIA_HINT}"
    if "'coroutine'" in text:
        return ". Write await before the call of an async function"
    if text.endswith("object is not an iterator"):
        return ". Write next(iter(...)), also for a generator expression"
    return ""


def _call_line(raised: BaseException, job: SandboxJob) -> int:
    """Return the line that calls a function of the program with wrong arguments, or 0 if it is unclear.

    The traceback has the line of the function instead.
    """
    match = WRONG_CALL.match(str(raised)) if isinstance(raised, TypeError) else None
    if not match or job.program.bindings.counts[match[1]] != 1:
        return 0
    calls = [node for node in job.program.nodes if isinstance(node, ast.Call)]
    lines = {call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == match[1]}
    return lines.pop() if len(lines) == 1 else 0


def _pack_hint(raised: BaseException, line: int, job: SandboxJob) -> str:
    """Return a hint if the failed line uses an attribute of a variable that has the name of a pack."""
    source = quote_line(job.program.code, line)
    for name in job.modules:
        is_used = job.program.bindings.counts[name] and f"{name}." in source
        if is_used and isinstance(raised, AttributeError):
            return f". {name!r} is the name of a pack. Choose another name for the variable."
    return ""


def _shape(frame: Any, job: SandboxJob, read_variable: ReadVariable) -> str:
    """Describe the value that was indexed, or whose attribute was read, if it is a global variable."""
    if frame.function_name not in (None, "<module>") or frame.line != frame.end_line:
        return ""
    source = "".join(job.program.source.split("\n")[frame.line - 1 : frame.line])
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
        for node in job.program.nodes
        if isinstance(node, ast.comprehension) and isinstance(node.target, ast.Name)
    }
