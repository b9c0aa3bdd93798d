"""`${name}` placeholders: parsing, and substitution that escapes values for their position."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from onetool.domain.text.json_text import encode

PLACEHOLDER = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
"""An escaped `$${`, or a placeholder with its name and closing brace, which may be missing."""
NAME = re.compile(r"[^\W\d]\w*(\.\w+)*")
SAFE_IN_PATH = "!$&'()*+,;=:@%~"
SAFE_IN_QUERY = SAFE_IN_PATH + "/?"
Lookup = Callable[[str], Any]
"""Returns the value of a placeholder name, or None if it has no value."""
Escape = Callable[[str], str]
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT"})()
"""Result of substituting a placeholder without a value that was a whole JSON value."""


class MalformedTemplate(ValueError):
    """A template contains `${` that does not start a placeholder."""


class InvalidValue(ValueError):
    """A placeholder has no value, or one that is not allowed in its position."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name!r} {problem}")
        self.name = name


class Placeholder(NamedTuple):
    """A name between `${` and `}`."""

    name: str


@lru_cache(maxsize=4096)
def parse_template(text: str) -> tuple[str | Placeholder, ...]:
    """Split a text into literals and placeholders; `$${` is a literal `${`.

    Raises:
        MalformedTemplate: A placeholder is not closed or has an invalid name.
    """
    parts: list[str | Placeholder] = []
    end = 0
    for match in PLACEHOLDER.finditer(text):
        parts.append(text[end : match.start()])
        parts.append("${" if match.group() == "$${" else _parse_placeholder(match))
        end = match.end()
    parts.append(text[end:])
    return tuple(part for part in parts if part != "")


def placeholder_names(value: Any) -> Iterator[str]:
    """Yield every placeholder name in the strings of a JSON value, including its keys.

    Raises:
        MalformedTemplate: A placeholder is not closed or has an invalid name.
    """
    if isinstance(value, str):
        yield from (part.name for part in parse_template(value) if isinstance(part, Placeholder))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from placeholder_names(key)
            yield from placeholder_names(item)
    elif isinstance(value, list):
        for item in value:
            yield from placeholder_names(item)


def to_text(value: Any) -> str:
    """Return a JSON value as part of a longer text: strings unchanged, other values as compact JSON."""
    return value if isinstance(value, str) else encode(value).decode()


def fill_text(text: str, lookup: Lookup, escape: Escape = str) -> str:
    """Substitute every placeholder as text.

    Raises:
        InvalidValue: A placeholder has no value.
    """
    return "".join(
        _substitute(part.name, lookup, escape) if isinstance(part, Placeholder) else part
        for part in parse_template(text)
    )


def fill_value(value: Any, lookup: Lookup, escape: Escape = str) -> Any:
    """Substitute placeholders in a JSON value; a string that is one placeholder takes its value's type.

    Returns ABSENT if such a placeholder has no value, and drops object members with such a value.

    Raises:
        InvalidValue: A placeholder in a longer string, a key or a list has no value.
    """
    if isinstance(value, str):
        name = sole_placeholder(value)
        if name is None:
            return fill_text(value, lookup, escape)
        replacement = lookup(name)
        return ABSENT if replacement is None else replacement
    if isinstance(value, dict):
        members = {fill_text(key, lookup): fill_value(item, lookup) for key, item in value.items()}
        return {key: item for key, item in members.items() if item is not ABSENT}
    if isinstance(value, list):
        return [_require_value(item, fill_value(item, lookup)) for item in value]
    return value


def sole_placeholder(text: str) -> str | None:
    """Return the name of the placeholder if the text consists of exactly one, else None."""
    parts = parse_template(text)
    only = parts[0] if len(parts) == 1 else None
    return only.name if isinstance(only, Placeholder) else None


def fill_header(text: str, lookup: Lookup) -> str | None:
    """Substitute placeholders in a header value; None if it is one placeholder without a value.

    Raises:
        InvalidValue: A value is missing, or contains a character that is not allowed in a header.
    """
    name = sole_placeholder(text)
    if name is not None and lookup(name) is None:
        return None
    return fill_text(text, _header_lookup(lookup)).strip()


def fill_path(path: str, lookup: Lookup) -> str:
    """Substitute placeholders in a URL path; a value cannot leave its path segment.

    Raises:
        InvalidValue: A value is missing, or would make a segment empty, `.` or `..`.
    """
    return "/".join(_fill_segment(segment, lookup) for segment in path.split("/"))


def fill_query(query: str, lookup: Lookup) -> str:
    """Substitute placeholders in the query string of a URL; parameters without a value are dropped."""
    pairs = (pair.partition("=") for pair in query.split("&"))
    return "&".join(
        fill_url_part(name, lookup, SAFE_IN_QUERY) + equals + fill_url_part(value, lookup, SAFE_IN_QUERY)
        for name, equals, value in pairs
        if not _is_absent(value, lookup)
    )


def fill_url_part(text: str, lookup: Lookup, safe: str) -> str:
    """Substitute placeholders in a part of a URL.

    Values are percent-encoded completely; literals keep the `safe` characters.
    """
    return "".join(
        _substitute(part.name, lookup, percent_encode)
        if isinstance(part, Placeholder)
        else quote(part, safe=safe)
        for part in parse_template(text)
    )


def percent_encode(text: str) -> str:
    """Percent-encode everything except letters, digits and `-._~`."""
    return quote(text, safe="")


def has_dot_segment(segment: str) -> bool:
    """Whether a path segment is `.` or `..`, or contains one after percent-decoding."""
    return any(part in (".", "..") for part in re.split(r"[/\\]", unquote(segment)))


def find_invalid_header_char(value: str) -> str | None:
    """Return the first character that is not allowed in a header value, or None."""
    return next((char for char in value if (char < " " and char != "\t") or char == "\x7f"), None)


def _parse_placeholder(match: re.Match[str]) -> Placeholder:
    name = match.group(1)
    if not match.group(2):
        raise MalformedTemplate(
            f"{match.group()[:80]!r} is not closed. Write ${{name}}, or $${{ for a literal ${{."
        )
    if not NAME.fullmatch(name):
        hint = "Names consist of letters, digits and underscores, as in ${city} or ${steps.0.id}"
        raise MalformedTemplate(
            f"{match.group()[:80]!r} is not a placeholder. {hint}. Write $${{ for a literal ${{."
        )
    return Placeholder(name)


def _substitute(name: str, lookup: Lookup, escape: Escape) -> str:
    value = lookup(name)
    if value is None:
        raise InvalidValue(name, "has no value")
    try:
        text = to_text(value)
        text.encode()
    except UnicodeEncodeError:
        raise InvalidValue(name, "contains a lone surrogate, which UTF-8 cannot encode") from None
    return escape(text)


def _require_value(template: Any, value: Any) -> Any:
    if value is ABSENT:
        raise InvalidValue(sole_placeholder(template) or "", "has no value")
    return value


def _is_absent(text: str, lookup: Lookup) -> bool:
    name = sole_placeholder(text)
    return name is not None and lookup(name) is None


def _fill_segment(segment: str, lookup: Lookup) -> str:
    filled = fill_url_part(segment, lookup, SAFE_IN_PATH)
    name = next(placeholder_names(segment), None)
    if name is not None and not filled:
        raise InvalidValue(name, "is empty, which would change the path of the URL")
    if name is not None and has_dot_segment(filled):
        raise InvalidValue(name, "would add '.' or '..' to the path of the URL")
    return filled


def _header_lookup(lookup: Lookup) -> Lookup:
    def lookup_checked(name: str) -> Any:
        value = lookup(name)
        invalid = find_invalid_header_char(to_text(value))
        if invalid:
            raise InvalidValue(name, f"contains {invalid!r}, which is not allowed in a header")
        return value

    return lookup_checked
