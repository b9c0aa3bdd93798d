"""Arguments of a call as words of a command: `key=value`, `key:=JSON`, `key@FILE`, `@FILE`."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from onetool.domain.text.json_text import describe_invalid_json, is_json
from onetool.domain.text.strings import truncate_middle
from onetool.domain.tools.schema_types import name_text, properties_of
from onetool.domain.tools.text_args import call_usage, convert_text, is_text
from onetool.domain.tools.tool import ToolSpec

EXAMPLE = """Pass arguments as a quoted JSON object: --args '{"path": ".", "limit": 3}'"""
WORD = re.compile(r"(?P<key>[^=@]+?)(?P<separator>:=|=|@)(?P<value>.*)", re.DOTALL)
STDIN = "-"
MAX_SHOWN_LENGTH = 80


class CallArgs(NamedTuple):
    """The arguments of a call, before the schema of its tool is known."""

    values: dict[str, Any]
    texts: dict[str, str]
    """Texts that the schema converts. They replace values."""
    unexpected: str | None = None
    """The first word that is not an argument."""

    def convert(self, spec: ToolSpec | None) -> dict[str, Any]:
        """Return the arguments for a tool.

        Raises:
            UsageError: A word is not an argument.
        """
        if self.unexpected is not None:
            raise click.UsageError(_describe_unexpected(self.unexpected, spec))
        schema = spec.input_schema if spec else {}
        return self.values | {name: convert_text(schema, name, text) for name, text in self.texts.items()}


def parse_words(text: str, words: Sequence[str]) -> CallArgs:
    """Return the arguments of `--args` and of words. Words with a key replace members of objects.

    Raises:
        UsageError: A value is not valid, or a parameter has two values.
    """
    objects = _parse_object(text, "--args", EXAMPLE)
    values, texts, unexpected = dict[str, Any](), dict[str, str](), list[str]()
    reader = _FileReader()
    for word in words:
        match = WORD.fullmatch(word)
        if word.startswith("@"):
            objects |= _parse_object(reader.read(word[1:]), word)
        elif match is None:
            unexpected.append(word)
        else:
            key, separator, value = match.group("key", "separator", "value")
            if key in values or key in texts:
                raise click.UsageError(f"{key!r} has two values. Pass a list as JSON: {key}:='[1, 2]'")
            if separator == ":=":
                values[key] = _parse_typed(key, value, reader)
            else:
                texts[key] = value if separator == "=" else reader.read(value)
    return CallArgs(objects | values, texts, unexpected[0] if unexpected else None)


def print_usage(spec: ToolSpec, args: CallArgs) -> None:
    """Print on stderr which arguments a tool takes, and how those are read from files."""
    click.echo(_usage(spec), err=True)
    for key, text in args.texts.items():
        if text.startswith("@") and not is_text(spec.input_schema, key):
            file = truncate_middle(text[1:], MAX_SHOWN_LENGTH)
            click.echo(f"To read {key} from a file: {key}:=@{file} (JSON) or {key}@{file} (text)", err=True)


class _FileReader:
    """Reads texts of files, and stdin once."""

    def __init__(self) -> None:
        self._has_read_stdin = False

    def read(self, path: str) -> str:
        name = "stdin" if path == STDIN else repr(path)
        if path == STDIN and self._has_read_stdin:
            raise click.UsageError("Only one argument can be read from stdin.")
        self._has_read_stdin |= path == STDIN
        try:
            return sys.stdin.buffer.read().decode() if path == STDIN else Path(path).read_text("utf-8")
        except UnicodeDecodeError as error:
            raise click.UsageError(f"{name} is not UTF-8 text (byte {error.start}).") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise click.UsageError(f"Cannot read {name}: {reason}.") from None


def _parse_typed(key: str, value: str, reader: _FileReader) -> Any:
    """Return the JSON of `key:=JSON` or `key:=@FILE`."""
    if value.startswith("@"):
        return _parse_json(reader.read(value[1:]), f"{key}:={value}", "")
    return _parse_json(value, f"{key}:=", f"For a text, write {key}=VALUE.")


def _describe_unexpected(word: str, spec: ToolSpec | None) -> str:
    names = list(properties_of(spec.input_schema)) if spec else []
    problem = f"Unexpected argument {truncate_middle(word, MAX_SHOWN_LENGTH)!r}."
    if spec is None:
        return f"{problem} Pass arguments as key=value."
    if not names:
        return f"{problem} {spec.name} has no parameters."
    example = f"{name_text(names[0])}={truncate_middle(word, MAX_SHOWN_LENGTH)}"
    return f"{problem} Pass arguments as key=value, such as {example!r}.\n{_usage(spec)}"


def _usage(spec: ToolSpec) -> str:
    return f"Call it with: onetool call {call_usage(spec)}"


def _parse_object(text: str, hint: str, example: str = "") -> dict[str, Any]:
    """Return the JSON object in a text. Problems show the text only with an example, because it was typed."""
    value = _parse_json(text, hint, example)
    if not isinstance(value, dict):
        raise click.BadParameter(f"not a JSON object. {example}".rstrip(), param_hint=hint)
    return value


def _parse_json(text: str, hint: str, example: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = describe_invalid_json(text, error) if example else f"not valid JSON: {error}."
        raise click.BadParameter(f"{problem} {example}".rstrip(), param_hint=hint) from None
    if not is_json(value):
        message = "not valid JSON: a number is out of range, or the nesting is too deep."
        raise click.BadParameter(message, param_hint=hint)
    return value
