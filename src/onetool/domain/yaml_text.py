"""Structured values as compact YAML for people and models: a map a line, two levels of flow at most."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .json_text import jsonable

FLOW_LEVELS = 2
LONGEST_KEY = 1_000
"""YAML reads a key without a mark only up to 1024 characters."""
PLAIN = re.compile(r"[A-Za-z_/][\w./-]*")
OTHER_TYPES = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that some reader of YAML takes for something else than text."""
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


class YamlMap(dict[str, Any]):
    """A dict whose text is YAML."""

    def __str__(self) -> str:
        return to_yaml(self)


class YamlList(list[Any]):
    """A list whose text is YAML."""

    def __str__(self) -> str:
        return to_yaml(self)


def to_yaml(value: Any) -> str:
    """Write a value; a text stays as it is.

    Raises ValueError when it is nested too deeply or refers to itself.
    """
    value = jsonable(value)
    return value if isinstance(value, str) else "\n".join(_block(value))


def flow(value: Any) -> str:
    """Write a JSON value in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return _text(value) if isinstance(value, str) else _scalar(value)


def block_text(text: str) -> str:
    """Write a text that stands alone behind a key: plain where YAML reads it back as it is."""
    is_plain = (text[:1].isalpha() or text[:1] in ("_", "/")) and not (
        text.lower() in OTHER_TYPES or text.endswith((" ", ":")) or ": " in text or " #" in text
    )
    return text if is_plain and text.isprintable() else quoted(text)


def quoted(text: str) -> str:
    """Write a text in double quotes, escaped as YAML does: JSON's surrogate pairs would break emoji."""
    return (
        '"'
        + "".join(char if char.isprintable() and char not in ESCAPES else _escape(char) for char in text)
        + '"'
    )


def _block(value: Any) -> Iterator[str]:
    """The lines of a value that stands by itself."""
    if isinstance(value, dict) and any(isinstance(item, dict | list) and item for item in value.values()):
        yield from _block_map(value)
    elif isinstance(value, list) and (not _fits(value) or _is_list_of_maps(value)):
        for item in value:
            yield from _hanging("- ", item)
    else:
        yield block_text(value) if isinstance(value, str) else flow(value)


def _block_map(value: Mapping[str, Any]) -> Iterator[str]:
    for key, item in value.items():
        written = _key(key)
        if written.startswith("?"):
            yield written.removesuffix(" :")
            written = ":"
        if _fits(item):
            yield f"{written} {block_text(item) if isinstance(item, str) else flow(item)}"
        else:
            yield written
            yield from (f"  {line}" for line in _block(item))


def _hanging(mark: str, item: Any) -> Iterator[str]:
    """An item in one line, or its block beside the mark."""
    one_line = isinstance(item, dict | list) and _fits(item)
    lines = iter([flow(item)]) if one_line else _block(item)
    yield mark + next(lines)
    yield from (f"  {line}" for line in lines)


def _fits(value: Any, levels: int = FLOW_LEVELS) -> bool:
    """Whether no more flow collections than this stand inside each other."""
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_fits(item, levels - 1) for item in items)


def _is_list_of_maps(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(item, dict) for item in value)


def _key(key: str) -> str:
    written = _text(key)
    return f"{written}:" if len(written) <= LONGEST_KEY else f"? {written} :"


def _text(text: str) -> str:
    return text if PLAIN.fullmatch(text) and text.lower() not in OTHER_TYPES else quoted(text)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else _float(value)


def _float(value: float) -> str:
    """YAML wants a point in every number with an exponent."""
    written = repr(value)
    return written.replace("e", ".0e") if "e" in written and "." not in written else written


def _escape(char: str) -> str:
    if char in ESCAPES:
        return ESCAPES[char]
    code = ord(char)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
