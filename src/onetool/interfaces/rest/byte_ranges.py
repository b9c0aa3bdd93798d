"""`Range` headers with one range of bytes (RFC 9110)."""

import re

SINGLE_RANGE = re.compile(r"bytes=\s*([0-9]{0,18})-([0-9]{0,18})\s*", re.ASCII)


class UnsatisfiableRange(ValueError):
    """A range is outside of the content."""


def parse_range(header: str | None, size: int) -> slice | None:
    """Return the requested bytes, or None for all of them.

    A malformed header, or one with several ranges, means all of them.

    Raises:
        UnsatisfiableRange: The content has none of these bytes.

    >>> parse_range("bytes=-2", 10)
    slice(8, 10, None)
    """
    match = SINGLE_RANGE.fullmatch(header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first, last = match.groups()
    if not first:
        start, end = max(size - int(last), 0), size
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
        if last and int(last) < start:
            return None
    if start >= size:
        raise UnsatisfiableRange
    return slice(start, end)
