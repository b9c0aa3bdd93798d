"""What a scripted model is to say, turn by turn: from a file, or as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetool.domain.chat import FAILURES, ChatFailed
from onetool.domain.errors import SettingsError
from onetool.domain.json_text import encode
from onetool.settings.yaml_file import parse_yaml

KEYS = ("text", "calls", "delay_s", "error", "expect")
SHAPE = "A script is a list of turns such as {text: ...} or {calls: [{name: ..., args: {...}}]}."
ERROR_KEYS = frozenset({"kind", "message", "retry_after"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of a scripted model."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    """Names, and arguments as JSON text."""
    delay_s: float = 0.0
    error: ChatFailed | None = None
    expect: tuple[str, ...] = ()
    """What must stand in the messages that are new since the model spoke last."""


def read_script(file: Path) -> tuple[Turn, ...]:
    """Read a script of YAML or JSON.

    Raises SettingsError that names the file.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}.") from None
    try:
        return make_script(parse_yaml(file, content).value)
    except ValueError as error:
        raise SettingsError(f"{file}: {error}") from None


def make_script(turns: Any) -> tuple[Turn, ...]:
    """Make a script of plain values.

    Raises ValueError that names the turn.
    """
    if not isinstance(turns, Sequence) or isinstance(turns, str):
        raise ValueError(f"a {type(turns).__name__}, not a list of turns. {SHAPE}")
    return tuple(_turn(f"turn {at}", turn) for at, turn in enumerate(turns, 1))


def _turn(place: str, turn: Any) -> Turn:
    if not isinstance(turn, Mapping) or not set(turn) <= set(KEYS):
        raise ValueError(f"{place} is no map of {', '.join(KEYS)}. {SHAPE}")
    text, delay, expect = turn.get("text", ""), turn.get("delay_s", 0), turn.get("expect", [])
    expected = [expect] if isinstance(expect, str) else expect
    if not isinstance(text, str):
        raise ValueError(f"{place}: text is {text!r}, not a text.")
    if not isinstance(delay, int | float) or not 0 <= delay < float("inf"):
        raise ValueError(f"{place}: delay_s is {delay!r}, not a number of seconds.")
    if not isinstance(expected, list) or not all(isinstance(part, str) for part in expected):
        raise ValueError(f"{place}: expect is {expect!r}, not a text or a list of texts.")
    return Turn(
        text=text,
        calls=_calls(place, turn.get("calls", [])),
        delay_s=float(delay),
        error=_error(place, turn.get("error")),
        expect=tuple(expected),
    )


def _calls(place: str, calls: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(calls, list):
        raise ValueError(f"{place}: calls is {calls!r}, not a list.")
    return tuple(_call(place, call) for call in calls)


def _call(place: str, call: Any) -> tuple[str, str]:
    """Arguments that are a text stand as they are: a model may write rubbish."""
    if (
        not isinstance(call, Mapping)
        or not set(call) <= {"name", "args"}
        or not isinstance(call.get("name"), str)
    ):
        raise ValueError(f"{place}: a call is {call!r}, not {{name: ..., args: {{...}}}}.")
    args = call.get("args", {})
    return call["name"], args if isinstance(args, str) else encode(args).decode()


def _error(place: str, error: Any) -> ChatFailed | None:
    """An error is the name of a kind, or a map with it."""
    if error is None:
        return None
    known: Any = {"kind": error} if isinstance(error, str) else error
    if not isinstance(known, Mapping) or not set(known) <= ERROR_KEYS or known.get("kind") not in FAILURES:
        raise ValueError(f"{place}: error is {error!r}. Valid kinds: {', '.join(sorted(FAILURES))}.")
    message = str(known.get("message", f"The script says: {known['kind']}."))
    return ChatFailed(known["kind"], message, retry_after=known.get("retry_after"))
