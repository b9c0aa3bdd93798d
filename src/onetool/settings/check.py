"""Turn what a file says into frozen settings, strictly: no unknown key, no conversion, no guess.

Written by hand because every command pays for it: building validators with a modelling library takes
longer than everything else that a command does before its work.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from onetool.domain.nearest import nearest

from .document import KeyPath

S = TypeVar("S")
Problem = tuple[KeyPath, str]
PRIVATE = frozenset({"env", "headers"})
"""Maps whose values may be secrets and are never repeated."""
NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def setting(
    default: Any,
    doc: str = "",
    *,
    over: float | None = None,
    least: float | None = None,
    most: float | None = None,
    keys: str | None = None,
    values: str | None = None,
) -> Any:
    """A setting with its default, its meaning and its bounds; `keys` and `values` are patterns of a map."""
    rules = {"doc": doc, "over": over, "least": least, "most": most, "keys": keys, "values": values}
    if callable(default):
        return field(default_factory=default, metadata=rules)
    return field(default=default, metadata=rules)


def check(kind: type[S], value: Any) -> tuple[S | None, list[Problem]]:
    """Return the settings, or what is wrong with them."""
    checker = _Checker()
    checked = checker.check(kind, value, ())
    return (None if checker.problems else checked), checker.problems


class _Checker:
    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def check(self, kind: Any, value: Any, path: KeyPath) -> Any:
        """Return the value as the kind wants it; note what is wrong."""
        if is_dataclass(kind):
            return self._group(kind, value, path)
        origin = get_origin(kind)
        if origin in CHECKS:
            return CHECKS[origin](self, get_args(kind), value, path)
        if kind is Any or _is(kind, value):
            return value
        return self._wrong(path, f"should be {NAMES[kind]}", value)

    def _group(self, kind: Any, value: Any, path: KeyPath) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(path, "should be a map", value)
        known = _settings_of(kind)
        before = len(self.problems)
        for key in value:
            if key not in known:
                self.problems.append(((*path, key), _unknown(path, key, list(known))))
        given = {
            name: self._setting(one, value[name], (*path, name))
            for name, one in known.items()
            if name in value
        }
        for name, (one, _) in known.items():
            if name not in value and one.default is MISSING and one.default_factory is MISSING:
                self.problems.append((path, f"{_dotted(path)}: {name} is missing."))
        if len(self.problems) > before:
            return None
        made = kind(**given)
        if wrong := getattr(made, "problem", lambda: "")():
            self.problems.append((path, f"{_dotted(path)}: {wrong}."))
        return made

    def _setting(self, known: "tuple[Field[Any], Any]", value: Any, path: KeyPath) -> Any:
        one, kind = known
        before = len(self.problems)
        checked = self.check(kind, value, path)
        if len(self.problems) == before:
            self._bounds(one.metadata, checked, path)
        return checked

    def _bounds(self, rules: Mapping[str, Any], value: Any, path: KeyPath) -> None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            if rules.get("over") is not None and not value > rules["over"]:
                self._wrong(path, f"should be greater than {rules['over']:g}", value)
            elif rules.get("least") is not None and value < rules["least"]:
                self._wrong(path, f"should be at least {rules['least']:g}", value)
            elif rules.get("most") is not None and value > rules["most"]:
                self._wrong(path, f"should be at most {rules['most']:g}", value)
        if isinstance(value, Mapping):
            for key, item in value.items():
                self._matches(rules.get("keys"), key, (*path, key), "its name")
                self._matches(rules.get("values"), item, (*path, key), "it")

    def _matches(self, pattern: str | None, text: Any, path: KeyPath, what: str) -> None:
        if pattern is not None and isinstance(text, str) and not re.fullmatch(pattern, text):
            self._wrong(path, f"{what} should look like {EXAMPLES[pattern]}", text)

    def _list(self, kinds: tuple[Any, ...], value: Any, path: KeyPath) -> Any:
        if not isinstance(value, list | tuple):
            return self._wrong(path, "should be a list", value)
        return tuple(self.check(kinds[0], item, (*path, index)) for index, item in enumerate(value))

    def _map(self, kinds: tuple[Any, ...], value: Any, path: KeyPath) -> Any:
        if not isinstance(value, Mapping):
            return self._wrong(path, "should be a map", value)
        for key in value:
            if not isinstance(key, str):
                self._wrong((*path, key), "its name should be text", key)
        return {key: self.check(kinds[1], item, (*path, key)) for key, item in value.items()}

    def _choice(self, kinds: tuple[Any, ...], value: Any, path: KeyPath) -> Any:
        if value in kinds:
            return value
        return self._wrong(path, f"should be {', '.join(kinds[:-1])} or {kinds[-1]}", value)

    def _optional(self, kinds: tuple[Any, ...], value: Any, path: KeyPath) -> Any:
        kind = next(kind for kind in kinds if kind is not NoneType)
        return None if value is None else self.check(kind, value, path)

    def _wrong(self, path: KeyPath, message: str, value: Any) -> None:
        text = _repr(value)
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        said = "" if PRIVATE & set(map(str, path)) else f", not {shown}"
        self.problems.append((path, f"{_dotted(path)}: {message}{said}."))


CHECKS: Mapping[Any, Callable[[_Checker, tuple[Any, ...], Any, KeyPath], Any]] = {
    tuple: _Checker._list,
    dict: _Checker._map,
    Literal: _Checker._choice,
    Union: _Checker._optional,
    UnionType: _Checker._optional,
}
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
TOOL_NAME = r"[^\s@]+(@\S+)?"
EXAMPLES = {IDENTIFIER: "a Python name", TOOL_NAME: "pack.tool"}


@cache
def _settings_of(kind: Any) -> "dict[str, tuple[Field[Any], Any]]":
    hints = get_type_hints(kind)
    return {one.name: (one, hints[one.name]) for one in fields(kind)}


def _is(kind: type, value: Any) -> bool:
    if kind is float:
        return _is(int, value) or (isinstance(value, float) and math.isfinite(value))
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # a number of more digits than Python writes
        return "a number that is too long"


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))


def _unknown(parents: KeyPath, key: Any, known: list[str]) -> str:
    found = nearest(str(key), known)
    names = " or ".join(_dotted((*parents, name)) for name in found)
    right = f"Did you mean {names}?" if found else f"Valid: {', '.join(known)}."
    return f"unknown key {_dotted((*parents, key))!r}. {right}"
