"""Compact YAML for users and models, with at most two levels of flow style."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .json_text import jsonable

FLOW_LEVELS = 2
MAX_FLOW_LENGTH = 400
"""Characters of a dict or a list on one line. The items of a list are on one line each, however long."""
MAX_KEY_LENGTH = 1_000
"""YAML requires the explicit `?` form for keys over 1024 characters."""
PLAIN_SCALAR = re.compile(r"[A-Za-z_/][\w./-]*")
RESERVED_WORDS = frozenset({"yes", "no", "on", "off", "true", "false", "null"})
"""Words that some YAML parsers do not read as strings."""
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


class YamlMap(dict[str, Any]):
    """A dict whose `str` is YAML."""

    def __str__(self) -> str:
        return to_yaml(self)


class YamlList(list[Any]):
    """A list whose `str` is YAML."""

    def __str__(self) -> str:
        return to_yaml(self)


def to_yaml(value: Any) -> str:
    """Return a value as YAML; a string is returned unchanged.

    Raises:
        ValueError: The value is nested too deeply or contains itself.
    """
    value = jsonable(value)
    return value if isinstance(value, str) else "\n".join(_block(value))


def to_flow(value: Any) -> str:
    """Return a JSON value in flow style, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} {to_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_flow, value)) + "]"
    return _flow_text(value) if isinstance(value, str) else _scalar(value)


def to_block_text(text: str) -> str:
    """Return a string as a block scalar value, quoted only if YAML requires it."""
    is_plain = (text[:1].isalpha() or text[:1] in ("_", "/")) and not (
        text.lower() in RESERVED_WORDS or text.endswith((" ", ":")) or ": " in text or " #" in text
    )
    return text if is_plain and text.isprintable() else quote(text)


def quote(text: str) -> str:
    """Return a double-quoted string with YAML escapes; the surrogate pairs of JSON would break emoji."""
    return (
        '"'
        + "".join(char if char.isprintable() and char not in ESCAPES else _escape(char) for char in text)
        + '"'
    )


def _block(value: Any) -> Iterator[str]:
    """Yield the lines of a value in block style."""
    if isinstance(value, dict) and (_has_collections(value) or not fits_line(value)):
        yield from _block_map(value)
    elif isinstance(value, list) and (not fits_line(value) or _is_list_of_maps(value)):
        for item in value:
            yield from _block_item(item)
    else:
        yield to_block_text(value) if isinstance(value, str) else to_flow(value)


def _block_map(value: Mapping[str, Any]) -> Iterator[str]:
    for key, item in value.items():
        *before, prefix = key_lines(key)
        yield from before
        if fits_line(item):
            yield f"{prefix} {to_block_text(item) if isinstance(item, str) else to_flow(item)}"
        else:
            yield prefix
            yield from (f"  {line}" for line in _block(item))


def _block_item(item: Any) -> Iterator[str]:
    """Yield the lines of a list item."""
    is_one_line = isinstance(item, dict | list) and fits_flow(item)
    lines = iter([to_flow(item)]) if is_one_line else _block(item)
    yield "- " + next(lines)
    yield from (f"  {line}" for line in lines)


def fits_flow(value: Any, levels: int = FLOW_LEVELS) -> bool:
    """Whether flow style needs at most this many nested collections."""
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(fits_flow(item, levels - 1) for item in items)


def fits_line(value: Any) -> bool:
    """Whether a value is written on the line of its key: with few levels and characters."""
    if not isinstance(value, dict | list):
        return True
    return fits_flow(value) and len(to_flow(value)) <= MAX_FLOW_LENGTH


def _has_collections(value: Mapping[str, Any]) -> bool:
    return any(isinstance(item, dict | list) and item for item in value.values())


def _is_list_of_maps(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(item, dict) for item in value)


def key_lines(key: str) -> list[str]:
    """Return a key in block style with its colon; a long key has a line of its own."""
    text = _key(key)
    return [text.removesuffix(" :"), ":"] if text.startswith("?") else [text]


def _key(key: str) -> str:
    text = _flow_text(key)
    return f"{text}:" if len(text) <= MAX_KEY_LENGTH else f"? {text} :"


def _flow_text(text: str) -> str:
    return text if PLAIN_SCALAR.fullmatch(text) and text.lower() not in RESERVED_WORDS else quote(text)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else _float(value)


def _float(value: float) -> str:
    """Add the decimal point that YAML 1.1 requires in a number with an exponent."""
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _escape(char: str) -> str:
    if char in ESCAPES:
        return ESCAPES[char]
    code = ord(char)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
