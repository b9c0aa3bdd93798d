"""Scripts for the scripted model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetool.domain.chat.messages import FAILURES, ChatModelError
from onetool.domain.errors import SettingsError
from onetool.domain.text.json_text import encode
from onetool.files.safe_yaml import parse_yaml

KEYS = ("text", "calls", "delay_s", "error", "expect")
FORMAT = "A script is a list of turns such as {text: ...} or {calls: [{name: ..., args: {...}}]}."
ERROR_KEYS = frozenset({"kind", "message", "retry_after"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTurn:
    """One turn of a scripted model."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Names and arguments as JSON text."""
    delay_s: float = 0.0
    error: ChatModelError | None = None
    expect: tuple[str, ...] = ()
    """Texts that the messages since the last reply of the model must contain."""


def read_script(file: Path) -> tuple[ScriptedTurn, ...]:
    """Read a script from a YAML or JSON file.

    Raises:
        SettingsError: The file cannot be read, or the script is invalid.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from None
    try:
        return make_script(parse_yaml(file, content).value)
    except ValueError as error:
        raise SettingsError(f"{file}: {error}") from None


def make_script(turns: Any) -> tuple[ScriptedTurn, ...]:
    """Build a script from plain values.

    Raises:
        ValueError: The script is invalid. The message names the turn.
    """
    if not isinstance(turns, Sequence) or isinstance(turns, str):
        raise ValueError(f"should be a list of turns, not {type(turns).__name__}. {FORMAT}")
    return tuple(_turn(f"turn {number}", turn) for number, turn in enumerate(turns, 1))


def _turn(location: str, turn: Any) -> ScriptedTurn:
    if not isinstance(turn, Mapping) or not set(turn) <= set(KEYS):
        raise ValueError(f"{location}: should be a map with the keys {', '.join(KEYS)}. {FORMAT}")
    text, delay, expect = turn.get("text", ""), turn.get("delay_s", 0), turn.get("expect", [])
    expected = [expect] if isinstance(expect, str) else expect
    if not isinstance(text, str):
        raise ValueError(f"{location}: text should be a string, not {text!r}.")
    if not isinstance(delay, int | float) or not 0 <= delay < float("inf"):
        raise ValueError(f"{location}: delay_s should be a number of seconds, not {delay!r}.")
    if not isinstance(expected, list) or not all(isinstance(part, str) for part in expected):
        raise ValueError(f"{location}: expect should be a string or a list of strings, not {expect!r}.")
    return ScriptedTurn(
        text=text,
        calls=_calls(location, turn.get("calls", [])),
        delay_s=float(delay),
        error=_error(location, turn.get("error")),
        expect=tuple(expected),
    )


def _calls(location: str, calls: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(calls, list):
        raise ValueError(f"{location}: calls should be a list, not {calls!r}.")
    return tuple(_call(location, call) for call in calls)


def _call(location: str, call: Any) -> tuple[str, str]:
    """Parse a call. Arguments given as a string are not encoded, so a script can send invalid JSON."""
    if (
        not isinstance(call, Mapping)
        or not set(call) <= {"name", "args"}
        or not isinstance(call.get("name"), str)
    ):
        raise ValueError(f"{location}: a call should be {{name: ..., args: {{...}}}}, not {call!r}.")
    args = call.get("args", {})
    return call["name"], args if isinstance(args, str) else encode(args).decode()


def _error(location: str, error: Any) -> ChatModelError | None:
    """Parse an error: a kind, or a map with `kind`, `message` and `retry_after`."""
    if error is None:
        return None
    fields: Any = {"kind": error} if isinstance(error, str) else error
    if not isinstance(fields, Mapping) or not set(fields) <= ERROR_KEYS or fields.get("kind") not in FAILURES:
        raise ValueError(f"{location}: invalid error {error!r}. Valid kinds: {', '.join(sorted(FAILURES))}.")
    message = str(fields.get("message", f"Scripted error: {fields['kind']}."))
    return ChatModelError(fields["kind"], message, retry_after=fields.get("retry_after"))
