"""Pages of a stored result: all lines that were asked for, and the part of them that a model is shown."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from onetool.domain.search.matching import fuzzy_matches, regex_matches
from onetool.domain.text.yaml_text import YamlMap, to_flow

LINE_PREFIX = "\n  - 1234567, "
"""What is written for each line besides the line, with its number."""
OVERHEAD_BYTES = 200
"""Size of everything in a page except its lines and the calls that read on."""
DEFAULTS = {"search": None, "fuzzy": False, "path": None, "column": 1, "width": None}


class ResultPage(YamlMap):
    """Lines of a stored result, and the query that selected them."""

    def __init__(self, values: Mapping[str, Any], query: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.query = query
        """The arguments of `ot.result`."""

    def to_model_text(self, max_bytes: int) -> str:
        """Return the page as text of about `max_bytes`; it ends with the calls that read what is left out."""
        text = str(self)
        return text if _size(text) <= max_bytes else str(_shorten(self, max_bytes))


def query_lines(
    lines: Sequence[str],
    *,
    offset: int = 1,
    limit: int = 100,
    search: str | None = None,
    fuzzy: bool = False,
    column: int = 1,
    width: int | None = None,
) -> dict[str, Any]:
    """Filter, sort and page lines, then select columns of them. `offset` and `column` start at 1.

    With `search`, `line_numbers` says where the lines are, so that a caller can read what is around them.

    Raises:
        ValueError: The search pattern is invalid.
    """
    matches: Sequence[int] = range(len(lines))
    if search is not None:
        matches = fuzzy_matches(search, lines) if fuzzy else regex_matches(search, lines)
    indexes = matches[offset - 1 : offset - 1 + limit]
    end = None if width is None else column - 1 + width
    page = [lines[index][column - 1 : end] for index in indexes]
    numbers = {} if search is None else {"line_numbers": [index + 1 for index in indexes]}
    return {
        "lines": page,
        "total_lines": len(lines),
        "returned": len(page),
        "offset": offset,
        "has_more": offset - 1 + len(page) < len(matches),
        **numbers,
    }


def _shorten(page: ResultPage, max_bytes: int) -> YamlMap:
    """Return the first lines of a page, or the beginning of its first line if that alone is too long."""
    lines, offset = page["lines"], page["offset"]
    max_bytes -= OVERHEAD_BYTES + 2 * _size(_call(page, offset=offset, limit=len(lines), column=1))
    shown = _fitting(lines, max_bytes)
    hidden, calls = [], []
    if not shown:
        length = _fitting_length(lines[0], max_bytes)
        shown = [lines[0][:length]]
        hidden.append(f"{len(lines[0]) - length} characters of the line")
        calls.append(_call(page, offset=offset, limit=1, **_next_window(page.query, length)))
    if rest := len(lines) - len(shown):
        hidden.append(f"{rest} lines")
        calls.append(_call(page, offset=offset + len(shown), limit=rest))
    numbers = {"line_numbers": page["line_numbers"][: len(shown)]} if "line_numbers" in page else {}
    return YamlMap(
        page,
        **numbers,
        lines=shown,
        returned=len(shown),
        has_more=True,
        not_shown=" and ".join(hidden),
        read_on=calls,
    )


def _fitting(lines: Sequence[str], max_bytes: int) -> list[str]:
    """Return the first lines that fit into `max_bytes`."""
    ends = accumulate(_size(to_flow(line)) + len(LINE_PREFIX) for line in lines)
    return list(lines[: sum(end <= max_bytes for end in ends)])


def _fitting_length(line: str, max_bytes: int) -> int:
    """Return how many characters of a line fit into `max_bytes`; at least one, so that reading on ends."""
    low, high = 1, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(to_flow(line[:middle])) <= max_bytes else (low, middle - 1)
    return low


def _next_window(query: Mapping[str, Any], length: int) -> dict[str, int]:
    """Return the columns after the first `length` ones of the window that was asked for."""
    width = query["width"]
    return {"column": query["column"] + length} | ({} if width is None else {"width": width - length})


def _call(page: ResultPage, **changed: int) -> str:
    """Return the call that reads another part of the same result."""
    query = dict(page.query) | changed
    args = [f"{name}={value!r}" for name, value in query.items() if DEFAULTS.get(name, ...) != value]
    return f"ot.result({', '.join(args)})"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
