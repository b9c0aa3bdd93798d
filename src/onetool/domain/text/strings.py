"""String helpers: truncation, plurals, terminal-safe text, camel case."""

import re
from collections.abc import Sequence
from functools import cache

ELLIPSIS = " ..."
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that Python counts as printable although a terminal shows nothing or a blank."""


def truncate_middle(text: str, limit: int) -> str:
    """Shorten a long text in the middle: error messages have the value first and the problem last.

    >>> truncate_middle("abcdefgh", 4)
    'ab ... gh'
    """
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]} ... {text[-half:]}"


def first_line(text: str) -> str:
    """Return the first line of a text, stripped."""
    return text.strip().partition("\n")[0].rstrip()


def truncate_words(text: str, max_bytes: int) -> str:
    """Shorten a text after a word; in scripts without spaces, after a character."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= max_bytes:
        return text
    start = encoded[: max_bytes - len(ELLIPSIS)].decode("utf-8", "ignore")
    words = start.rpartition(" ")[0]
    return (words if 2 * len(words) > len(start) else start).rstrip(" .,;:") + ELLIPSIS


def pluralize(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> pluralize(2, "file")
    '2 files'
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def join_words(words: Sequence[str]) -> str:
    """Join words with commas and `and`.

    >>> join_words(["a tool", "a prompt", "a text"])
    'a tool, a prompt and a text'
    """
    return " and ".join([", ".join(words[:-1]), *words[-1:]] if len(words) > 1 else words)


def printable(text: str) -> str:
    """Replace control characters, which could move the cursor or hide text in a terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def escape_invisible(text: str) -> str:
    """Replace every character that a terminal does not show, except a space, by its escape.

    >>> escape_invisible("a\\x1b[2Kb")
    'a\\\\x1b[2Kb'
    """
    if text.isprintable() and not INVISIBLE.search(text):
        return text
    return "".join(
        char if char.isprintable() and not INVISIBLE.match(char) else _escape_char(char) for char in text
    )


def _escape_char(char: str) -> str:
    return char.encode("unicode_escape").decode()


def shorten(text: str, limit: int) -> str:
    """Shorten a long text in the middle and state how much is hidden.

    >>> shorten("abcdefgh", 4)
    'abc[... 4 characters hidden ...]h'
    """
    if len(text) <= limit:
        return text
    head = limit - limit // 4
    return f"{text[:head]}[... {len(text) - limit:,} characters hidden ...]{text[len(text) - limit // 4 :]}"


@cache  # called for every field of every stored tool, with few different fields
def to_camel_case(field: str) -> str:
    """Return the JSON name of a field.

    >>> to_camel_case("display_name"), to_camel_case("bundle_id")
    ('displayName', 'bundleID')
    """
    head, *rest = field.split("_")
    return head + "".join("ID" if part == "id" else part.capitalize() for part in rest)
