"""Snippets: `$name key=value key2="a b"` becomes code, and no value can ever become more than a value.

The template is rendered with a marker in place of every value. The result is parsed, and only then each
marker is replaced: a whole name by a constant, a part of a text by its text. Anywhere else it is refused.
"""

import ast
import math
import re
import secrets
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from onetool.domain.json_text import jsonable
from onetool.domain.nearest import did_you_mean
from onetool.domain.program import InvalidProgram
from onetool.domain.yaml_text import block_text, flow, quoted
from onetool.settings.schema import Snippet, SnippetParam

CALL = re.compile(r"\A\s*\$(\w+)(.*)\Z", re.S)
TEXTS = ("str", "string", "text")


def expand_snippet(command: str, snippets: Mapping[str, Snippet]) -> str:
    """Return the code that a `$name ...` command stands for; any other command as it is.

    Raises InvalidProgram when there is no such snippet, or its values do not fit.
    """
    match = CALL.match(command)
    if match is None:
        return command
    name, rest = match[1], match[2]
    if name not in snippets:
        raise InvalidProgram(f"line 1: unknown snippet ${name}.{did_you_mean(name, snippets)}")
    return _Rendering(name, snippets[name]).code(_values(name, snippets[name], rest))


def show_snippet(name: str, snippet: Snippet) -> str:
    """A snippet for reading: its definition as YAML, an example, and the code that the example becomes."""
    lines = [f"name: {block_text(name)}", f"description: {block_text(snippet.description)}"]
    lines += ["params:", *_shown_params(snippet)] if snippet.params else ["params: {}"]
    examples = {key: _example(param) for key, param in snippet.params.items() if param.default is None}
    given = "".join(f" {key}={shlex.quote(str(value))}" for key, value in examples.items())
    lines += [
        *_shown_body(snippet.body),
        "",
        "# Example with defaults:",
        f"# ${name}{given}",
        "# Expands to:",
    ]
    values = {key: param.default for key, param in snippet.params.items()} | examples
    return "\n".join([*lines, _expanded(name, snippet, values)])


def _shown_params(snippet: Snippet) -> list[str]:
    shown = []
    for key, param in snippet.params.items():
        known = {"type": param.type, "default": param.default, "description": param.description}
        said = {name: jsonable(value) for name, value in known.items() if value not in ("", None)}
        shown.append(f"  {flow({key: said})[1:-1]}")
    return shown


def _shown_body(body: str) -> list[str]:
    body = body.strip("\n")
    lines = body.split("\n")
    if not all(line.isprintable() for line in lines):
        return [f"body: {quoted(body)}"]
    mark = "|2" if body.startswith(" ") else "|"
    return [f"body: {mark}", *(f"  {line}" if line else "" for line in lines)]


def _example(param: SnippetParam) -> Any:
    return "..." if param.example is None else param.example


def _expanded(name: str, snippet: Snippet, values: Mapping[str, Any]) -> str:
    try:
        return _fill(name, snippet, values).strip("\n")
    except InvalidProgram as error:
        return f"# {error}"


def _fill(
    name: str, snippet: Snippet, values: Mapping[str, Any], mark: Callable[[Any], Any] | None = None
) -> str:
    """Render the template; `mark` says what is written in place of a value.

    Raises InvalidProgram.
    """
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, finalize=mark, autoescape=False)
    try:
        return environment.from_string(snippet.body).render(**values)
    except TemplateError as error:
        raise InvalidProgram(f"line 1: ${name} cannot be filled in: {error}") from None


def _values(name: str, snippet: Snippet, text: str) -> dict[str, Any]:
    """The given values and the defaults of the others."""
    given: dict[str, Any] = {}
    for key, value in _pairs(name, text):
        if key not in snippet.params:
            known = ", ".join(snippet.params) or "none"
            meant = did_you_mean(key, snippet.params) or f" Valid: {known}."
            raise InvalidProgram(f"line 1: ${name} has no parameter {key!r}.{meant}")
        given[key] = value if snippet.params[key].type in TEXTS else _read(value)
    missing = [key for key, param in snippet.params.items() if param.required and key not in given]
    if missing:
        raise InvalidProgram(f"line 1: ${name} needs {missing[0]}. Example: ${name} {missing[0]}=...")
    return {key: param.default for key, param in snippet.params.items()} | given


def _pairs(name: str, text: str) -> list[tuple[str, str]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InvalidProgram(f"line 1: the values of ${name} cannot be read: {error}") from None
    pairs = [word.partition("=") for word in words]
    for key, equals, _ in pairs:
        if not equals or not key.isidentifier():
            raise InvalidProgram(f"line 1: values of ${name} are written key=value, not {key!r}")
    return [(key, value) for key, _, value in pairs]


def _read(text: str) -> Any:
    """A number, true, false or null as what it is, anything else as text."""
    words = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


class _Rendering:
    """One use of a snippet: its values stand behind markers that nobody can guess."""

    def __init__(self, name: str, snippet: Snippet) -> None:
        self._name, self._snippet = name, snippet
        self._salt = f"v{secrets.token_hex(8)}_"
        self._behind: list[Any] = []

    def code(self, values: Mapping[str, Any]) -> str:
        rendered = _fill(self._name, self._snippet, values, self._mark)
        try:
            tree = ast.parse(rendered)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InvalidProgram(f"line 1: ${self._name} does not make valid Python") from None
        code = ast.unparse(ast.fix_missing_locations(_Bind(self._salt, self._behind).visit(tree)))
        if self._salt in code:
            raise InvalidProgram(f"line 1: in ${self._name} a value stands where only code may stand")
        return code

    def _mark(self, value: Any) -> Any:
        from jinja2 import Undefined

        if isinstance(value, Undefined):
            return value  # whose text is the error
        self._behind.append(value)
        return f"{self._salt}{len(self._behind) - 1}_"


class _Bind(ast.NodeTransformer):
    def __init__(self, salt: str, behind: list[Any]) -> None:
        self._whole = re.compile(rf"{salt}(\d+)_")
        self._behind = behind

    def visit_Name(self, node: ast.Name) -> ast.expr:
        match = self._whole.fullmatch(node.id)
        if match is None or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_constant(self._behind[int(match[1])]), node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, str):
            return node
        text = self._whole.sub(lambda match: str(self._behind[int(match[1])]), node.value)
        return ast.copy_location(ast.Constant(text), node)


def _constant(value: Any) -> ast.expr:
    """A value as the expression that makes it: JSON's own types, anything else as text."""
    if isinstance(value, list | tuple):
        return ast.List([_constant(item) for item in value], ast.Load())
    if isinstance(value, dict):
        return ast.Dict(
            [ast.Constant(str(key)) for key in value], [_constant(item) for item in value.values()]
        )
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return ast.Constant(value)
    return ast.Constant(str(value))
