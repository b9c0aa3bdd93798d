"""Arguments and results as short texts for the record: no secrets, no base64, and a cut that is visible."""

import re
from collections.abc import Mapping, Set
from typing import Any

from onetool.domain.content.media import Media
from onetool.domain.secrets.redaction import Redactor, mask_spans
from onetool.domain.text.json_text import MAX_DEPTH, encode, encode_plain, is_small

NOT_SHOWN = "(cannot be shown)"
MAX_SMALL_BYTES = 100_000
"""Size of a value that is fast to encode."""
BASE64 = re.compile(r"(data:[\w.+-]{1,80}/[\w.+-]{1,80});base64,[A-Za-z0-9+/=_-]+", re.ASCII)
"""A data URI. Its bytes may be megabytes that mean nothing to a reader."""


def to_body(value: Any, limit: int, redactor: Redactor, *, size: int = 0, is_native: bool = False) -> str:
    """Return a value as JSON, and a text as it is, with at most about `limit` characters.

    size: its size as JSON in bytes, if it is known.
    is_native: whether the value may have objects of packs, which were not converted; they are not shown.
    """
    length = limit + redactor.max_length + 1
    try:
        text = value if isinstance(value, str) else _to_json(value, length, size, is_native)
    except BaseException:  # noqa: BLE001 - converting an object of a pack may raise anything
        return NOT_SHOWN
    text = text[:length]
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    is_cut = len(text) > limit
    if is_cut or redactor:
        text, is_cut = _redact(text, limit, redactor)
    if ";base64," in text:
        text = BASE64.sub(r"\1 (base64)", text)
    return f"{text} ... (cut)" if is_cut else text


def _redact(text: str, limit: int, redactor: Redactor) -> tuple[str, bool]:
    """Return the first characters with secrets masked, and whether any were cut off.

    A secret at the end is masked as a whole, because its first characters are a part of it.
    """
    spans = redactor.spans(text) if redactor.contains_secret(text) else []
    end = max([limit, *(stop for start, stop in spans if start < limit < stop)])
    return mask_spans(text[:end], [span for span in spans if span[1] <= end]), len(text) > end


def _to_json(value: Any, limit: int, size: int, is_native: bool) -> str:
    if size > MAX_SMALL_BYTES or not (size or is_small(value)):
        return "".join(_Writer(limit).write(value))
    plain = encode_plain(value)
    if plain is not None:
        return plain.decode()
    if is_native:
        return NOT_SHOWN
    return encode(value).decode() if is_small(value) else "".join(_Writer(limit).write(value))


class _Writer:
    """Writes the start of a large value as JSON, and does not look at the rest."""

    def __init__(self, limit: int) -> None:
        self._left, self._parts = limit, list[str]()

    def write(self, value: Any) -> list[str]:
        """Return the parts of the text."""
        self._write(value, 0)
        return self._parts

    def _write(self, value: Any, depth: int) -> None:
        if self._left <= 0 or depth > MAX_DEPTH:
            return
        if isinstance(value, Mapping):
            self._items("{", value.items(), "}", depth)
        elif isinstance(value, list | tuple | Set):
            self._items("[", value, "]", depth)
        else:
            self._add(_part_text(value, self._left))

    def _items(self, start: str, items: Any, end: str, depth: int) -> None:
        self._add(start)
        for number, item in enumerate(items):
            if self._left <= 0:
                break
            self._add("," if number else "")
            if start == "{":
                self._write(str(item[0]), depth + 1)
                self._add(":")
            self._write(item[1] if start == "{" else item, depth + 1)
        self._add(end)

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self._left -= len(text)


def _part_text(value: Any, limit: int) -> str:
    """Return a value that is no container as JSON. Of an object of a pack, only its type is shown."""
    if isinstance(value, str):
        return encode(value[:limit]).decode()
    plain = encode_plain(value)
    return plain.decode() if plain is not None else _part_text(_describe(value), limit)


def _describe(value: Any) -> str:
    return str(value) if isinstance(value, Media) else f"({type(value).__name__})"
