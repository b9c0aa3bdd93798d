"""Redaction of secret values in logs, errors and results."""

import base64
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[secret]"
HTML_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
MIN_LINE_LENGTH = 12
"""Shorter lines of a multi-line secret are not redacted on their own."""
MIN_LENGTH = 4
"""Shorter values occur in too many ordinary words to be redacted."""


class Redactor:
    """Replaces secret values by a mask, in plain text and in common encodings."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        parts = [part for value in values for part in _parts(value)]
        encoded = {form for part in parts if len(part) >= MIN_LENGTH for form in _encodings(part)}
        forms = encoded | {json.dumps(form)[1:-1] for form in encoded}  # JSON inside a JSON string
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def __repr__(self) -> str:
        return "Redactor(...)"

    def contains_secret(self, text: str) -> bool:
        """Whether the text contains a secret."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def redact(self, text: str) -> str:
        """Return the text with every secret masked."""
        return self._pattern.sub(MASK, text) if self._pattern else text

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


def _parts(value: str) -> Iterable[str]:
    """Yield the value and, if it has several lines, each longer line: a line alone would reveal a part."""
    yield value
    if "\n" in value:
        yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= MIN_LINE_LENGTH)


def _encodings(value: str) -> Iterable[str]:
    yield value
    yield repr(value)[1:-1]
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield quote(value, safe="", errors="replace")
    yield quote_plus(value, errors="replace")
    yield value.translate(HTML_ESCAPES)
    yield base64.b64encode(value.encode("utf-8", "replace")).decode()
