"""Whether a text contains a secret, also encoded, escaped or in two pieces."""

import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import unquote

from .redaction import MIN_LENGTH, base64_forms, parts_of

MAX_LAYERS = 3
"""How often a text is decoded: what is in it may be escaped several times."""
MIN_SPLIT_LENGTH = 12
"""Shorter texts are found only in one piece: the halves of a short one occur in ordinary words."""
ESCAPE = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\(.)")
LETTER_ESCAPES = str.maketrans({"n": "\n", "r": "\r", "t": "\t"})
ALIKE = str.maketrans({"-": "+", "_": "/", " ": "+"})
"""Characters that another alphabet of base64, or a form, writes in another way."""


class SearchedText:
    """A text in every form in which its reader may decode it."""

    def __init__(self, text: str) -> None:
        self._text = _folded("\0".join(_readings(text)))

    def contains(self, secret: str) -> bool:
        """Whether the text contains a secret or a longer line of it: as it is, in hex or in base64."""
        return any(self._contains(form) for form in _forms(secret))

    def _contains(self, form: str) -> bool:
        """Whether a form is here in one piece, or its beginning and its end in two places."""
        length = len(form)
        if length < MIN_SPLIT_LENGTH:
            return form in self._text
        half = (length + 1) // 2
        if form[:half] not in self._text and form[-half:] not in self._text:
            return False  # one of two pieces has at least the half
        start = _longest(length, lambda size: form[:size] in self._text)
        end = _longest(length, lambda size: form[length - size :] in self._text)
        return start + end >= length


def _longest(length: int, is_found: Callable[[int], bool]) -> int:
    """Return the size of the longest piece that is found. All shorter ones are found too."""
    low, high = 0, length
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_found(middle) else (low, middle - 1)
    return low


def _forms(secret: str) -> Iterator[str]:
    for part in parts_of(secret):
        if len(part) >= MIN_LENGTH and not part.startswith("-----"):  # begins and ends every key in PEM
            encoded = part.encode("utf-8", "replace")
            # What looks escaped in the secret itself is decoded in the text too.
            yield from map(_folded, (*_readings(part), encoded.hex(), *base64_forms(encoded)))


def _readings(text: str) -> Iterator[str]:
    """Yield a text, and what each decoding of its escapes makes of it."""
    from html import unescape  # imported when it is needed: it has a large table

    yield text
    for _ in range(MAX_LAYERS):
        decoded = _unescape(unescape(unquote(text)))
        if decoded == text:
            return
        yield decoded
        text = decoded


def _folded(text: str) -> str:
    return text.lower().translate(ALIKE)


def _unescape(text: str) -> str:
    """Decode the escapes of JSON strings."""
    return ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    return json.loads(f'"{match[1]}"') if match[1] else match[2].translate(LETTER_ESCAPES)
