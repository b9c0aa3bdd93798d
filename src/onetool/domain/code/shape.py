"""The shape of a value in a few words, for error messages."""

import json
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

MAX_KEYS = 12
MAX_NAME_LENGTH = 40
MAX_PARSED_LENGTH = 100_000


def describe_shape(value: Any) -> str:
    """Return the type of a value, and its size or keys.

    >>> describe_shape([{"path": "a", "size": 1}])
    'list of 1 dict with keys path, size'
    """
    if isinstance(value, str):
        hint = "; it is JSON: use json.loads" if _is_json_object(value) else ""
        return f"str of {_count(len(value), 'character')}{hint}"
    if isinstance(value, Mapping):
        return f"dict with keys {_list(value)}" if value else "empty dict"
    if isinstance(value, list | tuple | set | frozenset):
        return _describe_items(value)
    return "None" if value is None else type(value).__name__


def _is_json_object(text: str) -> bool:
    """Return whether a text is an object or an array in JSON."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > MAX_PARSED_LENGTH:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _describe_items(value: "list[Any] | tuple[Any, ...] | set[Any] | frozenset[Any]") -> str:
    """Describe a sequence, and its first item if all have the same type."""
    name = next(kind.__name__ for kind in (list, tuple, set, frozenset) if isinstance(value, kind))
    if not value:
        return f"empty {name}"
    first = next(iter(value))
    if not all(isinstance(item, type(first)) for item in value):
        return f"{name} of {_count(len(value), 'item')}"
    if isinstance(first, Mapping) and first:
        return f"{name} of {_count(len(value), 'dict')} with keys {_list(first)}"
    kind = "None" if first is None else type(first).__name__
    return f"{name} of {len(value)} {kind}"


def _list(keys: Collection[Any]) -> str:
    names = [_name(key) for key in islice(keys, MAX_KEYS)]
    more = f" and {len(keys) - MAX_KEYS} more" if len(keys) > MAX_KEYS else ""
    return ", ".join(names) + more


def _name(key: Any) -> str:
    try:
        return str(key)[:MAX_NAME_LENGTH]
    except ValueError:  # an integer with more digits than Python writes
        return type(key).__name__


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
