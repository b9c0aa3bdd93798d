"""Replacement of literals in code by parameters."""

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from .literals import Literal, literals_of
from .parameters import free_names, name_problem, parse_stored, strip_fence
from .program import Program
from .source_map import Edit, SourceMap, apply_edits


@dataclass(frozen=True, slots=True)
class NewParameter:
    """A literal that becomes a parameter."""

    index: int
    name: str
    description: str = ""


class InvalidParameter(ValueError):
    """A parameter cannot be made. `position` is its index in the list of new parameters."""

    def __init__(self, position: int, field: str, message: str) -> None:
        super().__init__(message)
        self.path = f"{position}.{field}"


def make_parameters(code: str, parameters: Sequence[NewParameter]) -> tuple[str, dict[str, Any]]:
    """Replace literals by variables. Return the program and the schema of its arguments.

    The value of a literal is the default of its parameter. Equal literals may have the same parameter.

    Raises:
        InvalidProgram: The code is not valid Python.
        InvalidParameter: There is no such literal, or the name cannot be used.
    """
    code = strip_fence(code)
    program = parse_stored(code)
    chosen = _choose(parameters, literals_of(code, program), program)
    properties: dict[str, Any] = {}
    for parameter, literal in chosen:
        schema = properties.setdefault(parameter.name, {"type": literal.type})
        if parameter.description:
            schema["description"] = parameter.description
        schema["default"] = literal.value
    source_map = SourceMap(code)
    edits = [_edit(source_map, literal, parameter.name) for parameter, literal in chosen]
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return apply_edits(source_map.text, edits), schema


def _choose(
    parameters: Sequence[NewParameter], literals: Sequence[Literal], program: Program
) -> list[tuple[NewParameter, Literal]]:
    """Return the literals of the parameters, once all of them can be replaced."""
    chosen: list[tuple[NewParameter, Literal]] = []
    taken = free_names(program)
    for position, parameter in enumerate(parameters):
        if not 0 <= parameter.index < len(literals):
            message = f"there is no literal {parameter.index}; the code has {len(literals)}, counted from 0"
            raise InvalidParameter(position, "index", message)
        literal = literals[parameter.index]
        if problem := _name_problem(parameter.name, literal, taken, program):
            raise InvalidParameter(position, "name", problem)
        for other, used in chosen:
            if _overlap(used.node, literal.node):
                message = f"literal {parameter.index} and literal {other.index} are parts of each other"
                raise InvalidParameter(position, "index", message)
            is_equal = (used.type, repr(used.value)) == (literal.type, repr(literal.value))
            if other.name == parameter.name and not is_equal:
                message = f"{parameter.name!r} is the name of another value, {used.text}; use another name"
                raise InvalidParameter(position, "name", message)
        chosen.append((parameter, literal))
    return chosen


def _name_problem(name: str, literal: Literal, taken: Collection[str], program: Program) -> str:
    if problem := name_problem(name):
        return problem
    if name in taken and name not in program.bindings.counts:
        return f"{name!r} is a name that the program uses already; use another name"
    if program.bindings.counts[name] and name != literal.assigned:
        return f"the program assigns {name!r} itself; use another name"
    return ""


def _overlap(first: ast.expr, second: ast.expr) -> bool:
    start, end = (first.lineno, first.col_offset), (first.end_lineno or 0, first.end_col_offset or 0)
    other_start = second.lineno, second.col_offset
    other_end = second.end_lineno or 0, second.end_col_offset or 0
    return start < other_end and other_start < end


def _edit(source_map: SourceMap, literal: Literal, name: str) -> Edit:
    """Return the edit that writes a variable in place of a literal, or removes its assignment."""
    start, end = source_map.span(literal.node)
    text = source_map.text
    if literal.assigned == name:
        line_start = text.rfind(b"\n", 0, start) + 1
        line_end = text.find(b"\n", end)
        rest = text[end : line_end if line_end >= 0 else len(text)].strip()
        head = text[line_start:start].decode()
        is_statement = re.fullmatch(rf"{name}\s*(:[^=;]+)?=\s*", head) is not None
        is_continued = text[:line_start].rstrip(b"\r\n").endswith(b"\\")
        is_last = not text[end:].strip()
        if is_statement and not is_continued and not rest and not is_last:
            return line_start, line_end + 1 if line_end >= 0 else len(text), b""
    before = b" " if text[start - 1 : start].isalnum() else b""
    after = b" " if text[end : end + 1].isalnum() else b""
    return start, end, before + name.encode() + after
