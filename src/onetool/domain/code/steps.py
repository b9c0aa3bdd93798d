"""Programs made of steps: each step calls one tool with fixed values and values of earlier steps."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from onetool.domain.errors import OneToolError
from onetool.domain.text.suggestions import did_you_mean

from .parameters import name_problem, unique_name

Check = Literal["present", "empty", "equals", "not_equals"]
ARGS = "args"
"""First part of the paths of arguments: `args.city`."""
PATH = re.compile(r"([^.\[\]\s]+)((?:\.[\w-]+|\[-?\d{1,9}\])*)")
PATH_PART = re.compile(r"\.([\w-]+)|\[(-?\d+)\]")
TOOL = re.compile(r"(\w+)\.(\w+)")
EMPTY = "(None, '', [], {})"
LOOKUP_ERRORS = ("KeyError", "IndexError", "TypeError")
"""What a path raises that leads nowhere."""


class InvalidStep(OneToolError):
    """A step is wrong. `path` leads from the steps to the field: `1.args.url.from`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True, slots=True)
class Fixed:
    """A JSON value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Reference:
    """A path to an argument, or into the result of an earlier step: `args.city`, `weather.items[0].name`."""

    path: str


@dataclass(frozen=True, slots=True)
class RunCondition:
    """When a step runs."""

    of: Reference
    check: Check
    value: Any = None


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a tool. Its result has the name of the step; it is None if the step is skipped."""

    name: str
    tool: str
    args: Mapping[str, Fixed | Reference]
    when: RunCondition | None = None


def write_program(steps: Sequence[Step], parameters: Collection[str], result: Reference | None = None) -> str:
    """Return the program that makes the calls of the steps, in their order.

    parameters: the names of the arguments.
    result: what the program returns; the result of the last step by default.

    Raises:
        InvalidStep: A name, a tool or a path is wrong.
    """
    return "\n".join(_ProgramWriter(steps, parameters).lines(result)) + "\n"


class _ProgramWriter:
    """Writes the lines of one program."""

    def __init__(self, steps: Sequence[Step], parameters: Collection[str]) -> None:
        self._steps, self._parameters = steps, parameters
        self._packs = {step.tool.partition(".")[0] for step in steps}
        self._names = {*parameters, *self._packs, *(step.name for step in steps)}
        self._earlier: dict[str, Step] = {}

    def lines(self, result: Reference | None) -> Iterator[str]:
        if not self._steps:
            raise InvalidStep("", "there are no steps; add at least one")
        for index, step in enumerate(self._steps):
            self._check_name(step, f"{index}.name")
            yield from self._step_lines(step, str(index))
            self._earlier[step.name] = step
        yield self._expression(result, "result.from") if result else self._steps[-1].name

    def _check_name(self, step: Step, path: str) -> None:
        name = step.name
        if problem := name_problem(name):
            raise InvalidStep(path, problem)
        if name == ARGS:
            raise InvalidStep(path, f"{ARGS!r} is the name of the arguments; use another name")
        if name in LOOKUP_ERRORS:
            raise InvalidStep(path, f"{name!r} is the name of an error of Python; use another name")
        if name in self._earlier:
            raise InvalidStep(path, f"{name!r} is the name of an earlier step too; use another name")
        if name in self._parameters:
            raise InvalidStep(path, f"{name!r} is the name of an argument too; use another name")
        if name in self._packs:
            raise InvalidStep(path, f"{name!r} is the name of a pack that the steps use; use another name")

    def _step_lines(self, step: Step, path: str) -> Iterator[str]:
        self._check_tool(step.tool, f"{path}.tool")
        args = [self._argument(name, value, f"{path}.args.{name}") for name, value in step.args.items()]
        call = f"{step.name} = {step.tool}({', '.join(args)})"
        if step.when is None:
            yield call
            return
        yield f"{step.name} = None"
        tested = self._expression(step.when.of, f"{path}.when.from")
        if "[" in tested:
            name = unique_name(f"{step.name}_when", self._names)
            self._names.add(name)
            yield from _guarded_lookup(name, tested)
            tested = name
        yield f"if {_condition(tested, step.when)}:"
        yield f"    {call}"

    def _check_tool(self, tool: str, path: str) -> None:
        match = TOOL.fullmatch(tool)
        problem = "" if match is None else name_problem(match[1]) or name_problem(match[2])
        if match is None or problem:
            raise InvalidStep(path, f"{tool!r:.80} is not the name of a tool, such as web.fetch")
        if match[1] in self._parameters:
            message = f"{match[1]!r} is an argument, so {tool} cannot be called; rename the argument"
            raise InvalidStep(path, message)

    def _argument(self, name: str, value: Fixed | Reference, path: str) -> str:
        text = repr(value.value) if isinstance(value, Fixed) else self._expression(value, f"{path}.from")
        return f"**{{{name!r}: {text}}}" if name_problem(name) else f"{name}={text}"

    def _expression(self, reference: Reference, path: str) -> str:
        """Return the Python expression of a path."""
        match = PATH.fullmatch(reference.path)
        if match is None:
            example = "args.city or weather.items[0].name"
            raise InvalidStep(path, f"{reference.path!r:.80} is not a path, such as {example}")
        root, parts = match[1], list(PATH_PART.finditer(match[2]))
        if root == ARGS:
            text, parts = self._parameter(parts, path), parts[1:]
        else:
            text = self._step_value(root, path)
        keys = (repr(part[1]) if part[2] is None else int(part[2]) for part in parts)
        return text + "".join(f"[{key}]" for key in keys)

    def _parameter(self, parts: Sequence[re.Match[str]], path: str) -> str:
        name = parts[0][1] if parts else None
        if name is None:
            raise InvalidStep(path, f"an argument is missing after {ARGS!r}, such as args.city")
        if name not in self._parameters:
            valid = ", ".join(self._parameters) or "none"
            hint = did_you_mean(name, self._parameters) or f" Arguments: {valid}."
            raise InvalidStep(path, f"there is no argument {name!r}.{hint}")
        return name

    def _step_value(self, name: str, path: str) -> str:
        if name in self._earlier:
            return name
        if name in {step.name for step in self._steps}:
            raise InvalidStep(path, f"step {name!r} does not come before this one")
        hint = did_you_mean(name, self._earlier)
        hint = hint or f" Use args.NAME or an earlier step: {', '.join(self._earlier) or 'there is none'}."
        raise InvalidStep(path, f"there is no step {name!r}.{hint}")


def _guarded_lookup(name: str, expression: str) -> Iterator[str]:
    """Yield lines that assign a value to a name; None if a part of its path is missing."""
    yield "try:"
    yield f"    {name} = {expression}"
    yield f"except ({', '.join(LOOKUP_ERRORS)}):"
    yield f"    {name} = None"


def _condition(tested: str, condition: RunCondition) -> str:
    """Return the Python expression of a condition. As in JSON, true is not 1 and false is not 0."""
    value, is_equals = condition.value, condition.check == "equals"
    if condition.check in ("present", "empty"):
        return f"{tested} {'in' if condition.check == 'empty' else 'not in'} {EMPTY}"
    if isinstance(value, bool):
        return f"{tested} {'is' if is_equals else 'is not'} {value}"
    text = f"{tested} {'==' if is_equals else '!='} {value!r}"
    if value in (0, 1):
        text += f" and {tested} is not {bool(value)}" if is_equals else f" or {tested} is {bool(value)}"
    return text
