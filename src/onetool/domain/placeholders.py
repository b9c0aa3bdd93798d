"""`${name}` in texts: found, and filled in so that a value stays a value wherever it stands."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from .json_text import encode

FOUND = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
NAME = re.compile(r"[^\W\d]\w*(\.\w+)*")
SAFE_IN_PATH = "!$&'()*+,;=:@%~"
SAFE_IN_QUERY = SAFE_IN_PATH + "/?"
Lookup = Callable[[str], Any]
"""Finds the value of a name; None where there is none."""
Escape = Callable[[str], str]
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT"})()
"""Stands where a whole value was a placeholder without a value."""


class Malformed(ValueError):
    """A `${` that begins no placeholder."""


class BadValue(ValueError):
    """A placeholder that has no value, or one that cannot stand where it would."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name!r} {problem}")
        self.name = name


class Placeholder(NamedTuple):
    """A name between `${` and `}`."""

    name: str


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[str | Placeholder, ...]:
    """Split a text into what is literal and what is to be filled in; `$${` is a literal `${`.

    Raises Malformed.
    """
    parts: list[str | Placeholder] = []
    end = 0
    for match in FOUND.finditer(text):
        parts.append(text[end : match.start()])
        parts.append("${" if match.group() == "$${" else _placeholder(match))
        end = match.end()
    parts.append(text[end:])
    return tuple(part for part in parts if part != "")


def names_in(value: Any) -> Iterator[str]:
    """Every name that stands in the texts of a JSON value, also in its keys.

    Raises Malformed.
    """
    if isinstance(value, str):
        yield from (part.name for part in parse(value) if isinstance(part, Placeholder))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from names_in(key)
            yield from names_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from names_in(item)


def as_text(value: Any) -> str:
    """A JSON value inside a longer text: texts as they are, all else as compact JSON."""
    return value if isinstance(value, str) else encode(value).decode()


def fill_text(text: str, lookup: Lookup, escape: Escape = str) -> str:
    """Fill in every placeholder as text.

    Raises BadValue where one has no value.
    """
    return "".join(
        _filled(part.name, lookup, escape) if isinstance(part, Placeholder) else part for part in parse(text)
    )


def fill_value(value: Any, lookup: Lookup, escape: Escape = str) -> Any:
    """Fill in a JSON value: a text that is one placeholder keeps the type of what it stands for.

    ABSENT when that has no value; a member with such a value is left out. Raises BadValue elsewhere.
    """
    if isinstance(value, str):
        name = whole(value)
        if name is None:
            return fill_text(value, lookup, escape)
        found = lookup(name)
        return ABSENT if found is None else found
    if isinstance(value, dict):
        members = {fill_text(key, lookup): fill_value(item, lookup) for key, item in value.items()}
        return {key: item for key, item in members.items() if item is not ABSENT}
    if isinstance(value, list):
        return [_present(item, fill_value(item, lookup)) for item in value]
    return value


def whole(text: str) -> str | None:
    """The name, where a text is nothing but one placeholder."""
    parts = parse(text)
    only = parts[0] if len(parts) == 1 else None
    return only.name if isinstance(only, Placeholder) else None


def fill_header(text: str, lookup: Lookup) -> str | None:
    """Fill in the value of a header; None where it is a placeholder without a value.

    Raises BadValue for a value that would begin another header.
    """
    name = whole(text)
    if name is not None and lookup(name) is None:
        return None
    return fill_text(text, _checked(lookup, _check_header)).strip()


def fill_path(path: str, lookup: Lookup) -> str:
    """Fill in the path of a URL: whatever a value holds, it stays within its segment.

    Raises BadValue for one that would make a segment empty, `.` or `..`.
    """
    return "/".join(_segment(segment, lookup) for segment in path.split("/"))


def fill_query(query: str, lookup: Lookup) -> str:
    """Fill in what stands behind the `?` of a URL template; a parameter without a value is left out."""
    pairs = (pair.partition("=") for pair in query.split("&"))
    return "&".join(
        fill_literal(name, lookup, SAFE_IN_QUERY) + equals + fill_literal(value, lookup, SAFE_IN_QUERY)
        for name, equals, value in pairs
        if not _is_absent(value, lookup)
    )


def fill_literal(text: str, lookup: Lookup, safe: str) -> str:
    """Fill in a part of a URL: values are percent-encoded completely, the author's words where needed."""
    return "".join(
        _filled(part.name, lookup, percent) if isinstance(part, Placeholder) else quote(part, safe=safe)
        for part in parse(text)
    )


def percent(text: str) -> str:
    """Percent-encode all that is not a letter, a digit or one of `-._~`."""
    return quote(text, safe="")


def is_dotted(segment: str) -> bool:
    """Whether a segment of a path is `.` or `..`, or becomes that for a server that decodes it first."""
    return any(part in (".", "..") for part in re.split(r"[/\\]", unquote(segment)))


def unsendable(value: str) -> str | None:
    """The character of a text that no header may hold."""
    return next((char for char in value if (char < " " and char != "\t") or char == "\x7f"), None)


def _placeholder(match: re.Match[str]) -> Placeholder:
    name = match.group(1)
    if not match.group(2):
        raise Malformed(f"{match.group()[:80]!r} has no end. Write ${{name}}, or $${{ for a literal ${{.")
    if not NAME.fullmatch(name):
        why = "A name has letters, digits and underscores, as in ${city} or ${steps.0.id}"
        raise Malformed(f"{match.group()[:80]!r} is no placeholder. {why}; $${{ is a literal ${{.")
    return Placeholder(name)


def _filled(name: str, lookup: Lookup, escape: Escape) -> str:
    value = lookup(name)
    if value is None:
        raise BadValue(name, "has no value")
    try:
        text = as_text(value)
        text.encode()
    except UnicodeEncodeError:
        raise BadValue(name, "holds half of a character that UTF-8 cannot write") from None
    return escape(text)


def _present(template: Any, value: Any) -> Any:
    if value is ABSENT:
        raise BadValue(whole(template) or "", "has no value")
    return value


def _is_absent(text: str, lookup: Lookup) -> bool:
    name = whole(text)
    return name is not None and lookup(name) is None


def _segment(segment: str, lookup: Lookup) -> str:
    filled = fill_literal(segment, lookup, SAFE_IN_PATH)
    name = next(names_in(segment), None)
    if name is not None and not filled:
        raise BadValue(name, "is empty, which would change the path of the URL")
    if name is not None and is_dotted(filled):
        raise BadValue(name, "would make '.' or '..' a part of the path of the URL")
    return filled


def _checked(lookup: Lookup, check: Callable[[str, Any], None]) -> Lookup:
    def checked(name: str) -> Any:
        value = lookup(name)
        check(name, value)
        return value

    return checked


def _check_header(name: str, value: Any) -> None:
    odd = unsendable(as_text(value))
    if odd:
        raise BadValue(name, f"holds {odd!r}, which cannot stand in a header")
