"""The question whether a call may run, rendered the same way in every interface."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from onetool.domain.text.json_text import encode, jsonable
from onetool.domain.text.strings import INVISIBLE

MAX_TOTAL_LENGTH = 4_000
"""Characters of all values together. Each value gets an equal share of them."""
MIN_VALUE_LENGTH, MAX_VALUE_LENGTH = 40, 500
MAX_NAME_LENGTH = 200
SHOWN_DIGITS = 16
"""Hexadecimal digits of the digest that are shown to a person."""
WORD = re.compile(r"[^\W\d_]+")
SCRIPTS_WITH_LOOKALIKES = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH", "MATHEMATICAL"}
)
"""Scripts with letters that look alike, by the first word of the letters' Unicode names."""


@dataclass(frozen=True, slots=True)
class ShownArgument:
    """An argument as it is shown to the user: a quoted name and its JSON value, both on one line."""

    name: str
    value: str
    hidden: int
    """Number of characters of the name and the value that are not shown."""

    def __str__(self) -> str:
        note = f" ({self.hidden:,} characters hidden)" if self.hidden else ""
        return f"{self.name}{note}: {self.value}"


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for approval. Its arguments are a copy that nothing else can change."""

    tool: str
    args: Mapping[str, Any]
    """The arguments that run if the request is approved. They may contain secrets."""
    digest: str
    """SHA-256 of the tool and the arguments: what was shown can be compared with what ran."""
    shown: tuple[tuple[str, Any], ...]
    """Names and values of all arguments, with secrets masked."""

    def arguments(self, *, complete: bool = False) -> list[ShownArgument]:
        """Return every argument. Long names and values are shortened, unless `complete` is set."""
        share = MAX_TOTAL_LENGTH // max(len(self.shown), 1)
        limit = min(max(share, MIN_VALUE_LENGTH), MAX_VALUE_LENGTH)
        return [
            _show(name, value, *((None, None) if complete else (MAX_NAME_LENGTH, limit)))
            for name, value in self.shown
        ]

    def text(self, *, complete: bool = False) -> str:
        """Return the question without its last line: the tool, every argument and the digest."""
        lines = [f"  {argument}" for argument in self.arguments(complete=complete)]
        heading = f"{_escape(self.tool)} is not read-only. " + ("Arguments:" if lines else "No arguments.")
        return "\n".join([heading, *lines, f"Digest: {self.digest[:SHOWN_DIGITS]}"])

    @property
    def hides_something(self) -> bool:
        """Whether the short form hides a part of a name or a value."""
        return any(argument.hidden for argument in self.arguments())


def approval_request(tool: str, args: Mapping[str, Any], mask: Callable[[Any], Any]) -> ApprovalRequest:
    """Copy the arguments of a call, so that later changes to them do not run.

    Raises:
        ValueError: The arguments are nested too deeply or contain themselves.
    """
    copy: dict[str, Any] = json.loads(encode(jsonable(args)))
    shown = tuple((mask(name), mask(value)) for name, value in copy.items())
    return ApprovalRequest(tool, copy, call_digest(tool, copy), shown)


def call_digest(tool: str, args: Mapping[str, Any]) -> str:
    """Return the SHA-256 of `{"args":...,"tool":...}` as JSON with sorted keys, no spaces and only ASCII."""
    call = json.dumps({"args": args, "tool": tool}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(call.encode()).hexdigest()


def _show(name: str, value: Any, max_name: int | None, max_value: int | None) -> ShownArgument:
    # Names are ASCII, so that none looks like another one.
    shown_name, hidden_in_name = _shorten(json.dumps(name), max_name)
    shown_value, hidden_in_value = _shorten(json.dumps(value, ensure_ascii=False), max_value)
    return ShownArgument(shown_name, _escape(shown_value), hidden_in_name + hidden_in_value)


def _shorten(text: str, limit: int | None) -> tuple[str, int]:
    """Return the start and the end of a long text, and the number of characters between them."""
    if limit is None or len(text) <= limit:
        return text, 0
    start, end = limit - limit // 3, limit // 3
    return f"{text[:start]} ... {text[-end:]}", len(text) - start - end


def _escape(text: str) -> str:
    """Escape characters that are invisible or reorder text, and words that mix look-alike letters."""
    if text.isascii() and text.isprintable():
        return text
    words = WORD.sub(lambda word: _escape_word(word.group()), text)
    return "".join(
        char if char.isprintable() and not INVISIBLE.match(char) else _escape_char(char) for char in words
    )


def _escape_word(word: str) -> str:
    """Escape the letters of a word that combines Latin with Cyrillic letters, for example."""
    if word.isascii() or len({_script(char) for char in word} & SCRIPTS_WITH_LOOKALIKES) <= 1:
        return word
    return "".join(char if char.isascii() else _escape_char(char) for char in word)


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def _escape_char(char: str) -> str:
    return json.dumps(char)[1:-1]
