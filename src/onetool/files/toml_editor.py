"""Removal of a table from TOML text, with every other byte unchanged."""

import re
import tomllib
from collections.abc import Sequence
from itertools import dropwhile
from typing import Any

HEADER = re.compile(r"\s*\[\[?(?P<keys>[^\]]+)\]\]?\s*(#.*)?")


def remove_table(text: str, path: Sequence[str]) -> str:
    """Return the text without the table at this path and its subtables.

    Comments above the next table stay.

    Raises:
        ValueError: The text is invalid, there is no such table, or it is not written as tables with headers.
    """
    expected = _without(tomllib.loads(text), path)
    lines, removed, is_removed = list[str](), list[str](), False
    for line in text.splitlines(keepends=True):
        if header := HEADER.fullmatch(line.rstrip("\r\n")):
            is_removed = _keys(header["keys"])[: len(path)] == list(path)
            if not is_removed:
                lines += _comments_of_next(removed)
            removed.clear()
        (removed if is_removed else lines).append(line)
    edited = "".join(lines)
    try:
        is_correct = tomllib.loads(edited) in (expected, _without_empty(expected, path))
    except ValueError:
        is_correct = False
    if not is_correct:
        raise ValueError(f"{'.'.join(path)} is not a table of its own")
    if not is_removed:  # something follows
        return edited
    line_end = "\r\n" if "\r\n" in text else "\n"
    return f"{edited.rstrip()}{line_end}" if edited.strip() else ""


def _comments_of_next(lines: Sequence[str]) -> list[str]:
    """Return the comments at the end of a table that belong to the next one: those after an empty line."""
    start = len(lines)
    while start and lines[start - 1].lstrip()[:1] in ("", "#"):
        start -= 1
    end = list(lines[start:])
    first_empty = next((index for index, line in enumerate(end) if not line.strip()), 0)
    return list(dropwhile(lambda line: not line.strip(), end[first_empty:]))


def _keys(header: str) -> list[str]:
    """Return the keys of a header; none if it is not one, such as a line of a text."""
    try:
        table: Any = tomllib.loads(f"[{header}]")
    except ValueError:
        return []
    keys = list[str]()
    while table:
        ((key, table),) = table.items()
        keys.append(key)
    return keys


def _without(data: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the data without the value at a path."""
    key, *rest = path
    if not isinstance(data, dict) or key not in data:
        raise ValueError(f"there is no {key}")
    if rest:
        return {**data, key: _without(data[key], rest)}
    return {name: value for name, value in data.items() if name != key}


def _without_empty(data: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the data without the parent of a removed table, if nothing is left in it."""
    key = path[0]
    return {name: value for name, value in data.items() if name != key or value}
