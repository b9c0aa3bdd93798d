"""Any Python value as JSON: the fast way for JSON values, a tolerant one for the rest."""

import json
import math
from collections.abc import Collection, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any

import orjson

MAX_DEPTH = 200
"""Deeper than any real result; a cycle ends here instead of for ever."""
SMALL, SMALL_TEXT = 2_000, 100
NUMBERS = frozenset({int, float, bool, type(None)})


def encode(value: Any) -> bytes:
    """Write a value as compact JSON.

    Raises ValueError when it is nested too deeply or refers to itself.
    """
    try:
        return orjson.dumps(value)
    except TypeError:  # not plain JSON: big integers, lone surrogates, sets, other objects
        return json.dumps(jsonable(value), separators=(",", ":")).encode()


class TooLarge(ValueError):
    """A value that is larger than allowed."""


def is_small(value: Any) -> bool:
    """Whether a value has so few parts that looking at each of them takes no time."""
    parts, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str | bytes | bytearray):
            parts += len(one) // SMALL_TEXT
        elif isinstance(one, dict | list | tuple | set | frozenset):
            parts += len(one)
            waiting += () if parts > SMALL else one.values() if isinstance(one, dict) else one
        if parts > SMALL:
            return False
    return True


def check_size(value: Any, limit: int) -> None:
    """Look how large a value would be as JSON, without writing it: parts that are shared count each time.

    Forty lists that each hold the one before twice are small in memory, and have no end on paper.
    Raises TooLarge over the limit, and ValueError for what refers to itself.
    """
    if _Sizes(limit).of(value, 0) > limit:
        raise TooLarge(f"larger than {limit} bytes")


class _Sizes:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: dict[int, int] = {}

    def of(self, value: Any, depth: int) -> int:
        if isinstance(value, str | bytes | bytearray):
            return len(value)
        if not isinstance(value, dict | list | tuple | set | frozenset):
            return 1
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep, or refers to itself")
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = self._container(value, depth + 1)
        return known

    def _container(self, value: Any, depth: int) -> int:
        if isinstance(value, dict):
            return self._items(value.keys(), depth) + self._items(value.values(), depth)
        return self._items(value, depth)

    def _items(self, items: Collection[Any], depth: int) -> int:
        if set(map(type, items)) <= NUMBERS:  # millions of them are looked at in no time
            return 2 + 2 * len(items)
        size = 2
        for item in items:
            size += 1 + self.of(item, depth)
            if size > self._limit:
                break
        return size


def pretty(value: Any) -> str:
    """Write a value as indented JSON for people."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return json.dumps(jsonable(value), indent=2)


def jsonable(value: Any, depth: int = 0) -> Any:
    """Return the value in JSON's own types; what JSON lacks becomes a list, a mapping or its text.

    Raises ValueError when it is nested too deeply or refers to itself.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep, or refers to itself")
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return _container(value, depth + 1)


def _container(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): jsonable(item, depth) for key, item in value.items()}
    if isinstance(value, list | tuple | Set):
        return [jsonable(item, depth) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name), depth) for field in fields(value)}
    if hasattr(value, "model_dump"):  # a pydantic model
        return jsonable(value.model_dump(), depth)
    return _scalar(value, depth)


def _scalar(value: Any, depth: int) -> Any:
    if isinstance(value, Enum):
        return jsonable(value.value, depth)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else str(jsonable(key))


def is_json(value: Any, depth: int = 0) -> bool:
    """Whether a value consists of JSON's own types alone."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(item, depth + 1) for key, item in value.items())
    if isinstance(value, list):
        return all(is_json(item, depth + 1) for item in value)
    return value is None or isinstance(value, bool | int | str) or _is_finite(value)


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)
