"""Redaction of secret values in logs, errors and results."""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[secret]"
HTML_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
URL_SAFE_BASE64 = str.maketrans("+/", "-_")
MIN_LINE_LENGTH = 12
"""Shorter lines of a multi-line secret are not redacted on their own."""
MIN_LENGTH = 4
"""Shorter values occur in too many ordinary words to be redacted."""
MIN_BASE64_LENGTH = 8
"""Shorter parts of a longer base64 text are not redacted."""
PERCENT_ESCAPE = re.compile("%[0-9A-F]{2}")
Span = tuple[int, int]
"""Start and end of a secret in a text."""


class Redactor:
    """Replaces secret values by a mask, in plain text and in common encodings."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        parts = [part for value in values for part in parts_of(value)]
        encoded = {form for part in parts if len(part) >= MIN_LENGTH for form in _encodings(part)}
        # An encoded text may be inside a JSON string, or in the repr of a container.
        forms = encoded | {quoted(form)[1:-1] for form in encoded for quoted in (json.dumps, repr)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._patterns: tuple[re.Pattern[str], ...] = (
            (re.compile(_alternatives(longest_first)),) if forms else ()
        )
        self.forms: tuple[list[str], ...] = (sorted(forms),) if forms else ()
        """The encoded secrets, as sorted lists."""
        self.max_length = len(longest_first[0]) if forms else 0
        """Length of the longest encoded secret."""

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def __repr__(self) -> str:
        return "Redactor(...)"

    def joined(self, other: "Redactor") -> "Redactor":
        """Return a redactor for the secrets of both. Costs much less than a new one."""
        if not self or not other:
            return self or other
        redactor = Redactor()
        redactor._patterns, redactor.forms = self._patterns + other._patterns, self.forms + other.forms
        redactor.max_length = max(self.max_length, other.max_length)
        return redactor

    def contains_secret(self, text: str) -> bool:
        """Whether the text contains a secret."""
        return any(pattern.search(text) for pattern in self._patterns)

    def redact(self, text: str) -> str:
        """Return the text with every secret masked."""
        if len(self._patterns) <= 1:
            return self._patterns[0].sub(MASK, text) if self._patterns else text
        return mask_spans(text, self.spans(text))

    def spans(self, text: str) -> list[Span]:
        """Return the start and end of every secret in the text, in order. They may overlap."""
        return sorted(match.span() for pattern in self._patterns for match in pattern.finditer(text))

    def mask(self, value: Any) -> Any:
        """Return a JSON value with every secret masked, including in keys."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {self.redact(key): self.mask(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.mask(item) for item in value]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return MASK if is_number and self.contains_secret(str(value)) else value


def _alternatives(forms: Iterable[str], depth: int = 2) -> str:
    """Return a pattern for any of these texts. Common first characters are tested once, which is faster."""
    if not depth:
        return "|".join(map(re.escape, forms))
    groups: dict[str, list[str]] = {}
    for form in forms:
        groups.setdefault(form[0], []).append(form[1:])
    return "|".join(
        f"{re.escape(first)}(?:{_alternatives(rest, depth - 1)})" for first, rest in groups.items()
    )


def mask_spans(text: str, spans: Iterable[Span]) -> str:
    """Return the text with sorted spans masked. Spans that overlap become one mask."""
    result, end = list[str](), 0
    for start, stop in spans:
        if start >= end:
            result += [text[end:start], MASK]
        end = max(end, stop)
    return "".join([*result, text[end:]])


def parts_of(value: str) -> Iterable[str]:
    """Yield the value and, if it has several lines, each longer line: a line alone would reveal a part."""
    yield value
    if "\n" in value:
        yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= MIN_LINE_LENGTH)


def _encodings(value: str) -> Iterator[str]:
    yield value
    yield repr(value)[1:-1]
    yield value.replace("/", r"\/")
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield value.translate(HTML_ESCAPES)
    for form in (
        quote(value, "", errors="replace"),
        quote(value, errors="replace"),
        quote_plus(value, errors="replace"),
    ):
        yield form
        yield PERCENT_ESCAPE.sub(lambda match: match[0].lower(), form)
    encoded = value.encode("utf-8", "replace")
    yield encoded.hex()
    yield encoded.hex().upper()
    for form in base64_forms(encoded):
        yield form
        yield form.translate(URL_SAFE_BASE64)


def base64_forms(value: bytes) -> Iterator[str]:
    """Yield the value as base64, and what it becomes as part of a longer value, such as `user:password`.

    Three bytes are four characters. So there are three such forms: for 0, 1 and 2 bytes before the value.
    Characters that also depend on the bytes before or after it are left out.
    """
    yield base64.b64encode(value).decode()
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + value).decode()
        form = encoded[(0, 2, 3)[before] : (before + len(value)) * 8 // 6]
        if len(form) >= MIN_BASE64_LENGTH:
            yield form
