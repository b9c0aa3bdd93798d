"""Large outputs kept aside: a handle, a preview, and questions by line."""

import json
from collections.abc import Sequence
from secrets import token_hex
from typing import Any, NamedTuple

from .json_text import pretty
from .nearest import did_you_mean
from .search import alike, matching
from .texts import cut

LONGEST_LINE = 2_000
PREVIEW_LINES = 20
PREVIEW_LINE = 160


class Stored(NamedTuple):
    """What is known of a stored text; it outlives the text itself, so that expired is not unknown."""

    handle: str
    tool: str
    total_lines: int
    size_bytes: int
    created_at: float
    expires_at: float


class Shown(NamedTuple):
    """A text as a model reads it, and the handle of the whole where it is only a part."""

    text: str
    handle: str = ""


def describe(text: str, tool: str, now: float, ttl_s: float) -> Stored:
    """A new handle for a text."""
    size = len(text.encode("utf-8", "surrogatepass"))
    return Stored(token_hex(6), tool, len(split_lines(text)), size, now, now + ttl_s)


def split_lines(text: str) -> list[str]:
    """Split at line feeds alone, with or without a carriage return; a last line feed ends the last line."""
    lines = (text.replace("\r\n", "\n") if "\r\n" in text else text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def preview(stored: Stored, text: str) -> str:
    """A summary that is always smaller than what was stored, and says how to see the rest."""
    head = [
        cut(line, PREVIEW_LINE) for line in split_lines(text[: PREVIEW_LINES * LONGEST_LINE])[:PREVIEW_LINES]
    ]
    return (
        f"{stored.size_bytes} bytes in {stored.total_lines} lines are stored as {stored.handle!r}.\n"
        f"Read on with ot.result(handle={stored.handle!r}, offset=1, limit=100), "
        f"or with search='pattern' for the lines that match.\n\n" + "\n".join(head)
    )


def part_of(text: str, path: str) -> str:
    """Return a part of stored JSON, one element a line: `items.0.name`.

    Raises ValueError when the text is no JSON, or has no such part.
    """
    try:
        found = json.loads(text)
    except ValueError:
        raise ValueError("path is for results that are JSON; use offset, limit and search") from None
    for step in path.split("."):
        options = _steps_into(found)
        if step not in options:
            raise ValueError(f"path {path!r} leads nowhere at {step!r}.{did_you_mean(step, options)}")
        found = found[step] if isinstance(found, dict) else found[int(step)]
    return found if isinstance(found, str) else pretty(found)


def _steps_into(value: Any) -> list[str]:
    if isinstance(value, dict):
        return list(value)
    return [str(index) for index in range(len(value))] if isinstance(value, list) else []


def query(
    lines: Sequence[str], *, offset: int, limit: int, search: str | None, fuzzy: bool, most_bytes: int
) -> dict[str, Any]:
    """Return some lines: filter, sort, then page; never more than `most_bytes` of them.

    Raises ValueError for a pattern that cannot be read.
    """
    found = lines if search is None else alike(search, lines) if fuzzy else matching(search, lines)
    page = _fitting(found[offset - 1 : offset - 1 + limit], most_bytes)
    return {
        "lines": page,
        "total_lines": len(lines),
        "returned": len(page),
        "offset": offset,
        "has_more": offset - 1 + len(page) < len(found),
    }


def _fitting(lines: Sequence[str], most_bytes: int) -> list[str]:
    kept: list[str] = []
    room = most_bytes
    for line in lines:
        short = line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} [cut: {len(line)} characters]"
        room -= len(short.encode("utf-8", "replace")) + 4
        if room < 0 and kept:
            break
        kept.append(short)
    return kept
