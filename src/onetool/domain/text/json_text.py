"""Conversion of any Python value to JSON: fast for JSON values, lenient for others."""

import json
import math
from collections.abc import Collection, Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any

import orjson

from .strings import truncate_middle

MAX_DEPTH = 200
"""Deeper than any real result; also ends the traversal of a cycle."""
MAX_SMALL_PARTS = 2_000
"""Parts of a value that is fast to traverse."""
CHARS_PER_PART = 100
MAX_SHOWN_LENGTH = 80
"""Characters of a text that is not JSON, in a message."""
SCALARS = frozenset({int, float, bool, type(None)})


def encode(value: Any) -> bytes:
    """Serialize a value as compact JSON.

    Raises:
        ValueError: The value is nested too deeply or contains itself.
    """
    plain = encode_plain(value)
    return json.dumps(jsonable(value), separators=(",", ":")).encode() if plain is None else plain


def encode_plain(value: Any) -> bytes | None:
    """Serialize plain JSON; None if there are large integers, lone surrogates, sets or other objects."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return None


def describe_invalid_json(text: str, error: Exception) -> str:
    """Return what is wrong with a text that `json` rejects, with its line and column.

    >>> describe_invalid_json("{a", ValueError("Expecting property name: line 1 column 2 (char 1)"))
    "not valid JSON: '{a': Expecting property name: line 1 column 2 (char 1)."
    """
    return f"not valid JSON: {truncate_middle(text, MAX_SHOWN_LENGTH)!r}: {error}."


class TooLarge(ValueError):
    """A value is larger than allowed."""


def is_small(value: Any) -> bool:
    """Whether a value has so few parts that traversing it takes negligible time."""
    parts, pending = 0, [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str | bytes | bytearray):
            parts += len(item) // CHARS_PER_PART
        elif isinstance(item, dict | list | tuple | set | frozenset):
            parts += len(item)
            pending += () if parts > MAX_SMALL_PARTS else item.values() if isinstance(item, dict) else item
        if parts > MAX_SMALL_PARTS:
            return False
    return True


def is_deeper(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested deeper than this many levels.

    >>> is_deeper([[]], 2), is_deeper([{"a": []}], 2)
    (False, True)
    """
    containers = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        children = [item.values() if isinstance(item, dict) else item for item in containers]
        containers = [child for items in children for child in items if isinstance(child, dict | list)]
        if not containers:
            return False
    return True


def check_size(value: Any, limit: int) -> None:
    """Estimate the size of a value as JSON without serializing it.

    Shared parts count each time: forty nested lists that each contain the previous one twice are small in
    memory, but their JSON is not.

    Raises:
        TooLarge: The size is over the limit, in bytes.
        ValueError: The value is nested too deeply or contains itself.
    """
    if _SizeEstimator(limit).estimate(value, 0) > limit:
        raise TooLarge(f"larger than {limit} bytes")


class _SizeEstimator:
    """Estimates sizes and caches those of containers."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._cache: dict[int, int] = {}

    def estimate(self, value: Any, depth: int) -> int:
        if isinstance(value, str | bytes | bytearray):
            return len(value)
        if not isinstance(value, dict | list | tuple | set | frozenset):
            return 1
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep, or refers to itself")
        size = self._cache.get(id(value))
        if size is None:
            size = self._cache[id(value)] = self._container(value, depth + 1)
        return size

    def _container(self, value: Any, depth: int) -> int:
        if isinstance(value, dict):
            return self._items(value.keys(), depth) + self._items(value.values(), depth)
        return self._items(value, depth)

    def _items(self, items: Collection[Any], depth: int) -> int:
        if set(map(type, items)) <= SCALARS:  # fast even for millions of items
            return 2 + 2 * len(items)
        size = 2
        for item in items:
            size += 1 + self.estimate(item, depth)
            if size > self._limit:
                break
        return size


def pretty(value: Any) -> str:
    """Serialize a value as indented JSON."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return json.dumps(jsonable(value), indent=2)


def jsonable(value: Any, depth: int = 0, keep: type | tuple[type, ...] = ()) -> Any:
    """Convert a value to JSON types; other types become a list, a dict or a string.

    Args:
        value: The value.
        depth: How deep the value is in another one.
        keep: Types whose instances are left unchanged.

    Raises:
        ValueError: The value is nested too deeply or contains itself.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep, or refers to itself")
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, keep) else _container(value, depth + 1, keep)


def _container(value: Any, depth: int, keep: type | tuple[type, ...]) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): jsonable(item, depth, keep) for key, item in value.items()}
    if isinstance(value, list | tuple | Set):
        return [jsonable(item, depth, keep) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name), depth, keep) for field in fields(value)}
    if hasattr(value, "model_dump"):  # a pydantic model
        return jsonable(value.model_dump(), depth, keep)
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
    """Whether a value consists only of JSON types."""
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(item, depth + 1) for key, item in value.items())
    if isinstance(value, list):
        return all(is_json(item, depth + 1) for item in value)
    return value is None or isinstance(value, bool | int | str) or _is_finite(value)


def _is_finite(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value)
