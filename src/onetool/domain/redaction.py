"""Keeps secret values out of everything that leaves: logs, errors, replies."""

import base64
import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[secret]"
MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
LONG_LINE = 12
SHORTEST = 4
"""A shorter value stands in too many ordinary words to be masked."""


class Redactor:
    """Replaces every secret value, in the forms it takes on the way out, by a mask."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        whole = [part for value in values for part in _parts(value)]
        plain = {form for value in whole if len(value) >= SHORTEST for form in _forms(value)}
        forms = plain | {json.dumps(form)[1:-1] for form in plain}  # a text of JSON inside JSON
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def __repr__(self) -> str:
        return "Redactor(...)"

    def finds(self, text: str) -> bool:
        """Whether a secret stands in the text."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def redact(self, text: str) -> str:
        """Return the text with every secret masked."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def clean(self, value: Any) -> Any:
        """Return a JSON value with every secret masked, in keys too."""
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, dict):
            return {self.redact(key): self.clean(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.clean(item) for item in value]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return MASK if is_number and self.finds(str(value)) else value


def _parts(value: str) -> Iterable[str]:
    """The value, and the longer lines of one that has several: each tells a part of it."""
    yield value
    if "\n" in value:
        yield from (line.strip() for line in value.splitlines() if len(line.strip()) >= LONG_LINE)


def _forms(value: str) -> Iterable[str]:
    yield value
    yield repr(value)[1:-1]
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield quote(value, safe="", errors="replace")
    yield quote_plus(value, errors="replace")
    yield value.translate(MARKUP)
    yield base64.b64encode(value.encode("utf-8", "replace")).decode()
