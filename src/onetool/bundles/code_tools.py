"""Rules of stored tools that are made of code: their programs, steps and parameters."""

import ast
from collections.abc import Mapping
from typing import Any

from onetool.domain.bundles.bundle import FieldError, InvalidBundle, invalid_field
from onetool.domain.code.parameters import (
    called_parameter,
    name_problem,
    parse_stored,
    properties_of,
    shadowed_tool,
)
from onetool.domain.code.program import MAX_LENGTH, InvalidProgram
from onetool.domain.code.steps import Fixed, InvalidStep, Reference, RunCondition, Step, write_program

HTTP_LIMITS = ("maxSentBytes", "maxRespBytes", "maxRetries")
"""Limits that a program does not have."""


def complete_code_impl(impl: Mapping[str, Any], arg_schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a valid `codeImpl` with its program, which is written from the steps if there are any.

    Raises:
        InvalidBundle: The program, a step or the name of a parameter is invalid.
    """
    check_parameters(arg_schema)
    program, written = impl.get("program"), None
    if impl.get("steps") is not None:
        written = program_of_steps(impl["steps"], arg_schema, impl.get("result"), field="codeImpl")
        program = written if program is None else program
    check_stored_program(program or "", arg_schema)
    if written is not None and not _is_same(program or "", written):
        message = "is not the program of the steps. Omit it, or omit steps and result."
        raise invalid_field("codeImpl.program", message)
    return {**impl, "program": program}


def check_stored_program(source: str, arg_schema: Mapping[str, Any]) -> None:
    """Check the source of a program. Tools that do not exist are found when it runs.

    Raises:
        InvalidBundle: It is not valid Python, or uses a parameter as a pack or as a function.
    """
    try:
        program = parse_stored(source)
    except InvalidProgram as error:
        raise invalid_field("codeImpl.program", f"{error}") from None
    properties = properties_of(arg_schema)
    if called := called_parameter(program, properties):
        message = f"hides the function of that name from the program, which calls {called}(). Rename it."
        raise invalid_field(f"argSchema.properties.{called}", message)
    shadowed = shadowed_tool(program, properties)
    if shadowed is not None:
        name, attribute = shadowed
        message = f"hides the pack of that name from the program, which uses {name}.{attribute}. Rename it."
        raise invalid_field(f"argSchema.properties.{name}", message)


def check_parameters(arg_schema: Mapping[str, Any]) -> None:
    """Check the names of the parameters.

    Raises:
        InvalidBundle: A property is not a name that Python allows for variables.
    """
    for name in properties_of(arg_schema):
        if problem := name_problem(str(name)):
            raise invalid_field(f"argSchema.properties.{name}", f"{problem}.")


def check_limits(limits: Mapping[str, Any] | None) -> None:
    """Check that a tool made of code has only limits that apply to it.

    Raises:
        InvalidBundle: It has a limit of HTTP tools.
    """
    for name in HTTP_LIMITS:
        if (limits or {}).get(name) is not None:
            message = "applies only to HTTP tools. Use timeoutMS or maxCallsPerMinute."
            raise invalid_field(f"limits.{name}", message)


def program_of_steps(
    steps: Any, arg_schema: Mapping[str, Any], result: Any = None, *, field: str = ""
) -> str:
    """Return the program of steps, given as in the body of a tool.

    field: the path of what contains them.

    Raises:
        InvalidBundle: A step is wrong. The error names its field.
    """
    prefix = f"{field}." if field else ""
    reference = Reference(result["from"]) if result else None
    try:
        return write_program([_step(step) for step in steps], list(properties_of(arg_schema)), reference)
    except InvalidStep as error:
        own = error.path if error.path.startswith("result") else f"steps.{error.path}".rstrip(".")
        message = f"{error}" if f"{error}".endswith((".", "?")) else f"{error}."
        errors = [FieldError(f"{prefix}{own}", message)]
        raise InvalidBundle(f"{prefix}{own}: {message}", errors=errors) from None


def _step(step: Mapping[str, Any]) -> Step:
    """Return a step of a body that is valid by its schema."""
    when = step.get("when")
    condition = RunCondition(Reference(when["from"]), when["is"], when.get("value")) if when else None
    args = {
        name: Reference(value["from"]) if value.get("from") is not None else Fixed(value.get("value"))
        for name, value in step.get("args", {}).items()
    }
    return Step(step["name"], step["tool"], args, condition)


def _is_same(program: str, written: str) -> bool:
    """Whether a program within the limits differs from another one only in how it is formatted."""
    if program == written:
        return True
    if len(written) > MAX_LENGTH:
        return False
    try:
        return ast.dump(ast.parse(program)) == ast.dump(ast.parse(written))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
