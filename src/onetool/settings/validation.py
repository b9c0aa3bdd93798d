"""Strict validation of settings dataclasses: no unknown keys and no type conversion.

It does not use a validation library because every CLI command pays for it: building the validators takes
longer than everything else a command does at startup.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from onetool.domain.text.suggestions import closest_names
from onetool.files.yaml_document import KeyPath

Names = tuple[str, ...]
S = TypeVar("S")
Problem = tuple[KeyPath, str]
PRIVATE = frozenset({"env", "headers", "fixed"})
"""Maps whose values may be secrets and are never quoted."""
TYPE_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


def setting(
    default: Any,
    doc: str = "",
    *,
    gt: float | None = None,
    ge: float | None = None,
    le: float | None = None,
    keys: str | None = None,
    values: str | None = None,
    case_sensitive: bool = True,
    restart: bool = False,
) -> Any:
    """Declare a setting with its default, documentation and bounds. MISSING means required.

    keys, values: regular expressions for the keys and values of a map.
    case_sensitive: whether keys of a map may differ only in case.
    restart: whether the setting is read once, when the process starts. A reload reports that it changed.
    """
    rules = {"doc": doc, "gt": gt, "ge": ge, "le": le, "keys": keys, "values": values, "restart": restart}
    rules["case_sensitive"] = case_sensitive
    if callable(default):
        return field(default_factory=default, metadata=rules)
    return field(default=default, metadata=rules)


def validate(kind: type[S], value: Any) -> tuple[S | None, list[Problem]]:
    """Return the settings, or None and what is wrong with them."""
    validator = _Validator()
    settings = validator.validate(kind, value, ())
    return (None if validator.problems else settings), validator.problems


class _Validator:
    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def validate(self, kind: Any, value: Any, path: KeyPath) -> Any:
        """Return the value as an instance of `kind`, and collect problems."""
        if is_dataclass(kind):
            return self._group(kind, value, path)
        origin = get_origin(kind)
        if origin in CHECKS:
            return CHECKS[origin](self, get_args(kind), value, path)
        if kind is Any or _is_instance(kind, value):
            return value
        return self._report(path, f"should be {TYPE_NAMES[kind]}", value)

    def _group(self, kind: Any, value: Any, path: KeyPath) -> Any:
        if not isinstance(value, Mapping):
            return self._report(path, "should be a map", value)
        declared = fields_of(kind)
        before = len(self.problems)
        for key in value:
            if key not in declared:
                self.problems.append(((*path, key), _unknown_key(path, key, list(declared))))
        values = {
            name: self._setting(declaration, value[name], (*path, name))
            for name, declaration in declared.items()
            if name in value
        }
        for name, (field_, _) in declared.items():
            if name not in value and field_.default is MISSING and field_.default_factory is MISSING:
                self.problems.append((path, f"{_dotted(path)}: missing key {name!r}."))
        if len(self.problems) > before:
            return None
        settings = kind(**values)
        if problem := getattr(settings, "problem", lambda: "")():
            self.problems.append((path, f"{_dotted(path)}: {problem}."))
        return settings

    def _setting(self, declaration: "tuple[Field[Any], Any]", value: Any, path: KeyPath) -> Any:
        field_, kind = declaration
        before = len(self.problems)
        validated = self.validate(kind, value, path)
        if len(self.problems) == before:
            self._bounds(field_.metadata, validated, path)
        return validated

    def _bounds(self, rules: Mapping[str, Any], value: Any, path: KeyPath) -> None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            if rules.get("gt") is not None and not value > rules["gt"]:
                self._report(path, f"should be greater than {rules['gt']:g}", value)
            elif rules.get("ge") is not None and value < rules["ge"]:
                self._report(path, f"should be at least {rules['ge']:g}", value)
            elif rules.get("le") is not None and value > rules["le"]:
                self._report(path, f"should be at most {rules['le']:g}", value)
        if isinstance(value, Mapping):
            for key, item in value.items():
                self._pattern(rules.get("keys"), key, (*path, key), "the name should be")
                self._pattern(rules.get("values"), item, (*path, key), "should be")
            if not rules.get("case_sensitive", True):
                self._distinct(value, path)

    def _pattern(self, pattern: str | None, text: Any, path: KeyPath, message: str) -> None:
        if pattern is not None and isinstance(text, str) and not re.fullmatch(pattern, text):
            self._report(path, f"{message} {PATTERN_NAMES[pattern]}", text)

    def _distinct(self, names: Mapping[str, Any], path: KeyPath) -> None:
        """Report names that differ only in case."""
        first: dict[str, str] = {}
        for name in names:
            if (other := first.setdefault(name.lower(), name)) != name:
                message = f"differs only in case from {_dotted((*path, other))}. Rename one of them."
                self.problems.append(((*path, name), f"{_dotted((*path, name))}: {message}"))

    def _list(self, kinds: tuple[Any, ...], value: Any, path: KeyPath) -> Any:
        if not isinstance(value, list | tuple):
            return self._report(path, "should be a list", value)
        return tuple(self.validate(kinds[0], item, (*path, index)) for index, item in enumerate(value))

    def _map(self, kinds: tuple[Any, ...], value: Any, path: KeyPath) -> Any:
        if not isinstance(value, Mapping):
            return self._report(path, "should be a map", value)
        for key in value:
            if not isinstance(key, str):
                self._report((*path, key), "the name should be a string", key)
        return {key: self.validate(kinds[1], item, (*path, key)) for key, item in value.items()}

    def _choice(self, kinds: tuple[Any, ...], value: Any, path: KeyPath) -> Any:
        if value in kinds:
            return value
        return self._report(path, f"should be {', '.join(kinds[:-1])} or {kinds[-1]}", value)

    def _optional(self, kinds: tuple[Any, ...], value: Any, path: KeyPath) -> Any:
        kind = next(kind for kind in kinds if kind is not NoneType)
        return None if value is None else self.validate(kind, value, path)

    def _report(self, path: KeyPath, message: str, value: Any) -> None:
        text = _repr(value)
        shortened = text if len(text) <= 60 else f"{text[:57]}..."
        actual = "" if PRIVATE & set(map(str, path)) else f", not {shortened}"
        self.problems.append((path, f"{_dotted(path)}: {message}{actual}."))


CHECKS: Mapping[Any, Callable[[_Validator, tuple[Any, ...], Any, KeyPath], Any]] = {
    tuple: _Validator._list,
    dict: _Validator._map,
    Literal: _Validator._choice,
    Union: _Validator._optional,
    UnionType: _Validator._optional,
}
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
TOOL_NAME = r"[^\s@]+(@\S+)?"
PROFILE_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
PATTERN_NAMES = {
    IDENTIFIER: "a Python identifier",
    TOOL_NAME: "a tool name such as pack.tool",
    PROFILE_NAME: "lower-case letters, digits, - and _",
}


@cache
def fields_of(kind: Any) -> "dict[str, tuple[Field[Any], Any]]":
    """Return the fields of a settings dataclass and their types, by name."""
    hints = get_type_hints(kind)
    return {field_.name: (field_, hints[field_.name]) for field_ in fields(kind)}


def _is_instance(kind: type, value: Any) -> bool:
    if kind is float:
        return _is_instance(int, value) or (isinstance(value, float) and math.isfinite(value))
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _repr(value: Any) -> str:
    try:
        return repr(value)
    except ValueError:  # an integer with more digits than Python converts
        return "a number that is too long"


def _dotted(path: KeyPath) -> str:
    """Join a path, with unprintable characters escaped so that a message stays on one line."""
    parts = map(str, path)
    return ".".join(part if part.isprintable() else repr(part)[1:-1] for part in parts)


def _unknown_key(parents: KeyPath, key: Any, valid: list[str]) -> str:
    closest = closest_names(str(key), valid)
    names = " or ".join(_dotted((*parents, name)) for name in closest)
    hint = f"Did you mean {names}?" if closest else f"Valid: {', '.join(valid)}."
    return f"unknown key {_dotted((*parents, key))!r}. {hint}"
