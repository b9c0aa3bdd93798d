"""Snippets: templates that turn `$name key=value key2="a b"` into code, safe from code injection.

The template is rendered with a random marker in place of every value, and the result is parsed. Only then
are the markers replaced in the syntax tree: a marker that is a whole name by a constant, a marker inside a
string by the text of its value. A marker anywhere else is an error. So a value can never become code.
"""

import ast
import math
import re
import secrets
import shlex
from collections.abc import Callable, Collection, Mapping
from typing import Any

from onetool.domain.code.program import InvalidProgram
from onetool.domain.text.json_text import jsonable
from onetool.domain.text.suggestions import did_you_mean
from onetool.domain.text.yaml_text import quote, to_block_text, to_flow
from onetool.settings.schema import Snippet, SnippetParam

COMMAND = re.compile(r"\A\s*\$(\w+)(.*)\Z", re.S)
PACK_NAME = re.compile(r"(\w+)\s*\.")
"""A word before a dot, which may be a pack."""
TEXT_TYPES = ("str", "string", "text")


def visible_snippets(snippets: Mapping[str, Snippet], hidden_packs: Collection[str]) -> Mapping[str, Snippet]:
    """Return the snippets whose code does not use a hidden pack."""
    if not hidden_packs:
        return snippets
    hidden = frozenset(hidden_packs)
    return {
        name: snippet
        for name, snippet in snippets.items()
        if hidden.isdisjoint(PACK_NAME.findall(snippet.body))
    }


def expand_snippet(command: str, snippets: Mapping[str, Snippet]) -> str:
    """Expand a `$name ...` command to code. Return any other command unchanged.

    Raises:
        InvalidProgram: There is no such snippet, or its values are invalid.
    """
    match = COMMAND.match(command)
    if match is None:
        return command
    name, arguments = match[1], match[2]
    if name not in snippets:
        raise InvalidProgram(f"line 1: unknown snippet ${name}.{did_you_mean(name, snippets)}")
    return _Expansion(name, snippets[name]).expand(_values(name, snippets[name], arguments))


def describe_snippet(name: str, snippet: Snippet) -> str:
    """Return the definition of a snippet as YAML, followed by an example and its expansion."""
    lines = [f"name: {to_block_text(name)}", f"description: {to_block_text(snippet.description)}"]
    lines += ["params:", *_params_yaml(snippet)] if snippet.params else ["params: {}"]
    examples = {key: _example(param) for key, param in snippet.params.items() if param.default is None}
    arguments = "".join(f" {key}={shlex.quote(str(value))}" for key, value in examples.items())
    lines += [
        *_body_yaml(snippet.body),
        "",
        "# Example with defaults:",
        f"# ${name}{arguments}",
        "# Expands to:",
    ]
    values = {key: param.default for key, param in snippet.params.items()} | examples
    return "\n".join([*lines, _example_expansion(name, snippet, values)])


def _params_yaml(snippet: Snippet) -> list[str]:
    lines = []
    for key, param in snippet.params.items():
        fields = {"type": param.type, "default": param.default, "description": param.description}
        present = {field: jsonable(value) for field, value in fields.items() if value not in ("", None)}
        lines.append(f"  {to_flow({key: present})[1:-1]}")
    return lines


def _body_yaml(body: str) -> list[str]:
    body = body.strip("\n")
    lines = body.split("\n")
    if not all(line.isprintable() for line in lines):
        return [f"body: {quote(body)}"]
    indicator = "|2" if body.startswith(" ") else "|"
    return [f"body: {indicator}", *(f"  {line}" if line else "" for line in lines)]


def _example(param: SnippetParam) -> Any:
    return "..." if param.example is None else param.example


def _example_expansion(name: str, snippet: Snippet, values: Mapping[str, Any]) -> str:
    try:
        return _render(name, snippet, values).strip("\n")
    except InvalidProgram as error:
        return f"# {error}"


def _render(
    name: str, snippet: Snippet, values: Mapping[str, Any], finalize: Callable[[Any], Any] | None = None
) -> str:
    """Render the template. `finalize` returns what to write in place of a value.

    Raises:
        InvalidProgram: The template is invalid or uses an undefined name.
    """
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, finalize=finalize, autoescape=False
    )
    try:
        return environment.from_string(snippet.body).render(**values)
    except TemplateError as error:
        raise InvalidProgram(f"line 1: cannot render ${name}: {error}") from None


def _values(name: str, snippet: Snippet, arguments: str) -> dict[str, Any]:
    """Parse the arguments and add the defaults."""
    values: dict[str, Any] = {}
    for key, value in _parse_arguments(name, arguments):
        if key not in snippet.params:
            valid = ", ".join(snippet.params) or "none"
            hint = did_you_mean(key, snippet.params) or f" Valid: {valid}."
            raise InvalidProgram(f"line 1: ${name} has no parameter {key!r}.{hint}")
        values[key] = value if snippet.params[key].type in TEXT_TYPES else _parse_value(value)
    missing = [key for key, param in snippet.params.items() if param.is_required and key not in values]
    if missing:
        raise InvalidProgram(f"line 1: ${name} requires {missing[0]}. Example: ${name} {missing[0]}=...")
    return {key: param.default for key, param in snippet.params.items()} | values


def _parse_arguments(name: str, arguments: str) -> list[tuple[str, str]]:
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        raise InvalidProgram(f"line 1: cannot parse the values of ${name}: {error}") from None
    pairs = [word.partition("=") for word in words]
    for key, equals, _ in pairs:
        if not equals or not key.isidentifier():
            raise InvalidProgram(f"line 1: write the values of ${name} as key=value, not {key!r}")
    return [(key, value) for key, _, value in pairs]


def _parse_value(text: str) -> Any:
    """Parse a number, true, false or null. Anything else is text."""
    constants = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


class _Expansion:
    """One use of a snippet. Its values are hidden behind markers that cannot be guessed."""

    def __init__(self, name: str, snippet: Snippet) -> None:
        self._name, self._snippet = name, snippet
        self._prefix = f"v{secrets.token_hex(8)}_"
        self._values: list[Any] = []

    def expand(self, values: Mapping[str, Any]) -> str:
        rendered = _render(self._name, self._snippet, values, self._to_marker)
        try:
            tree = ast.parse(rendered)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InvalidProgram(f"line 1: ${self._name} does not expand to valid Python") from None
        tree = _MarkerReplacer(self._prefix, self._values).visit(tree)
        code = ast.unparse(ast.fix_missing_locations(tree))
        if self._prefix in code:
            raise InvalidProgram(f"line 1: ${self._name} inserts a value where only code is allowed")
        return code

    def _to_marker(self, value: Any) -> Any:
        from jinja2 import Undefined

        if isinstance(value, Undefined):
            return value  # rendering it raises the error
        self._values.append(value)
        return f"{self._prefix}{len(self._values) - 1}_"


class _MarkerReplacer(ast.NodeTransformer):
    def __init__(self, prefix: str, values: list[Any]) -> None:
        self._marker = re.compile(rf"{prefix}(\d+)_")
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        match = self._marker.fullmatch(node.id)
        if match is None or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_to_literal(self._values[int(match[1])]), node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, str):
            return node
        return ast.copy_location(ast.Constant(self._marker.sub(self._to_text, node.value)), node)

    def _to_text(self, match: re.Match[str]) -> str:
        value = self._values[int(match[1])]
        return "" if value is None else str(value)


def _to_literal(value: Any) -> ast.expr:
    """Return the literal of a JSON value. Any other value becomes text."""
    if isinstance(value, list | tuple):
        return ast.List([_to_literal(item) for item in value], ast.Load())
    if isinstance(value, dict):
        return ast.Dict(
            [ast.Constant(str(key)) for key in value], [_to_literal(item) for item in value.values()]
        )
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return ast.Constant(value)
    return ast.Constant(str(value))
