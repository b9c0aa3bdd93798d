"""Text form of values for models: YAML with multi-line texts as blocks and equal rows as tables."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .json_text import encode, jsonable
from .yaml_text import (
    MAX_FLOW_LENGTH,
    YamlList,
    YamlMap,
    fits_flow,
    fits_line,
    key_lines,
    to_block_text,
    to_flow,
    to_yaml,
)

BLOCK_TEXT = re.compile(
    r"[\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*"
)
"""Texts that a YAML block scalar represents unchanged."""
MIN_ROWS, MIN_COLUMNS = 3, 2
"""The smallest list of dicts that is shorter as a table."""


def to_model_text(value: Any, max_bytes: int) -> str:
    """Return a value as readable text, or with one record a line if its JSON is larger than `max_bytes`.

    Large values are stored, and then read by line. Serializing them takes long, so do not call this on the
    event loop.
    """
    is_small = isinstance(value, str) or len(encode(value)) <= max_bytes
    return to_readable_text(value) if is_small else to_record_lines(value)


def to_record_lines(value: Any) -> str:
    """Return a value as YAML in which every item of a list is one line, so that a line has a whole record.

    Raises:
        ValueError: The value is nested too deeply or contains itself.
    """
    value = jsonable(value)
    return value if isinstance(value, str) else "\n".join(_records(value))


def to_readable_text(value: Any) -> str:
    """Return a value as YAML; a string is returned unchanged.

    A `YamlMap` or `YamlList` is written as its `str`. In other values, texts of several lines are blocks, and
    dicts with equal keys are the rows of a table under a comment that names the keys.

    Raises:
        ValueError: The value is nested too deeply or contains itself.
    """
    if isinstance(value, YamlMap | YamlList):
        return str(value)
    value = jsonable(value)
    if isinstance(value, str):
        return value
    if not _has_layout(value):
        return to_yaml(value)
    return "\n".join(_lines(value)) + ("\n" if _last_text(value).endswith("\n") else "")


def _has_layout(value: Any) -> bool:
    """Whether a value contains a table or a block."""
    if isinstance(value, str):
        return _is_block(value)
    if not isinstance(value, dict | list):
        return False
    items = value.values() if isinstance(value, dict) else value
    return _is_table(value) or any(map(_has_layout, items))


def _lines(value: Any) -> Iterator[str]:
    """Yield the lines of a dict or list."""
    if _is_table(value):
        yield f"# {_table_header(value)}"
        yield from _table_rows(value)
    elif not _has_layout(value):
        yield from to_yaml(value).split("\n")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _entry(key, item)
    else:
        for item in value:
            yield from _item(item)


def _records(value: Any) -> Iterator[str]:
    """Yield the lines of a value with one record a line."""
    if isinstance(value, list) and value:
        yield from (f"- {to_flow(item)}" for item in value)
    elif isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _record_entry(key, item)
    else:
        yield to_flow(value)


def _record_entry(key: str, value: Any) -> Iterator[str]:
    *before, prefix = key_lines(key)
    yield from before
    if isinstance(value, str):
        yield from _text(f"{prefix} ", value)
    elif isinstance(value, dict | list) and len(encode(value)) > MAX_FLOW_LENGTH:
        yield prefix
        yield from (f"  {line}" for line in _records(value))
    else:
        yield f"{prefix} {to_flow(value)}"


def _entry(key: str, value: Any) -> Iterator[str]:
    """Yield the lines of a key and its value."""
    *before, prefix = key_lines(key)
    yield from before
    if isinstance(value, str):
        yield from _text(f"{prefix} ", value)
    elif _is_table(value):
        yield f"{prefix} # {_table_header(value)}"
        yield from (f"  {row}" for row in _table_rows(value))
    elif not _has_layout(value) and fits_line(value):
        yield f"{prefix} {to_flow(value)}"
    else:
        yield prefix
        yield from (f"  {line}" for line in _lines(value))


def _item(value: Any) -> Iterator[str]:
    """Yield the lines of a list item."""
    if isinstance(value, str):
        yield from _text("- ", value)
    elif not _has_layout(value) and fits_flow(value):
        yield f"- {to_flow(value)}"
    elif _is_table(value):
        yield f"- # {_table_header(value)}"
        yield from (f"  {row}" for row in _table_rows(value))
    else:
        lines = _lines(value)
        yield f"- {next(lines)}"
        yield from (f"  {line}" for line in lines)


def _text(prefix: str, text: str) -> Iterator[str]:
    """Yield the lines of a string after a key or a dash: as a block if it has several lines."""
    if not _is_block(text):
        yield prefix + to_block_text(text)
        return
    body = text.removesuffix("\n")
    keep = "-" if body == text else "+" if body.endswith("\n") else ""
    indent = "2" if text[0] in " \n\t" else ""
    yield f"{prefix}|{indent}{keep}"
    yield from (f"  {line}" if line else "" for line in body.split("\n"))


def _is_block(text: str) -> bool:
    return "\n" in text.strip() and BLOCK_TEXT.fullmatch(text) is not None


def _last_text(value: Any) -> str:
    """Return the last value if it is written as a block: its line break must be there at the end."""
    while isinstance(value, dict | list) and value:
        value = list(value.values())[-1] if isinstance(value, dict) else value[-1]
    return value if isinstance(value, str) and _is_block(value) else ""


def _is_table(value: Any) -> bool:
    """Whether a value is a list of dicts with the same keys and short values."""
    if not isinstance(value, list) or len(value) < MIN_ROWS or not isinstance(value[0], dict):
        return False
    keys = list(value[0])
    return len(keys) >= MIN_COLUMNS and all(
        isinstance(row, dict) and list(row) == keys and all(map(_is_cell, row.values())) for row in value
    )


def _is_cell(value: Any) -> bool:
    return fits_flow(value, 1) and not _has_layout(value)


def _table_header(rows: list[Mapping[str, Any]]) -> str:
    return f"{len(rows)} dicts with the keys {to_flow(list(rows[0]))}"


def _table_rows(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    yield from (f"- {to_flow(list(row.values()))}" for row in rows)
