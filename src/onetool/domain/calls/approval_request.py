"""The question whether a call may run, rendered the same way in every interface."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onetool.domain.text.json_text import encode, jsonable
from onetool.domain.text.strings import INVISIBLE

MAX_ARGUMENTS = 10_000
"""No person can check a call with more arguments."""
MAX_TOTAL_LENGTH = 4_000
"""Characters of all values together, and of all names. Each one gets an equal share of them."""
MIN_LENGTH = 40
"""Characters of a name or a value that are always shown, however many there are."""
MAX_NAME_LENGTH, MAX_VALUE_LENGTH = 200, 500
GAP = " ... "
"""Stands for the hidden characters."""
SHOWN_DIGITS = 16
"""Hexadecimal digits of the digest that are shown to a person."""
WORD = re.compile(r"[^\W\d_]+")
SCRIPTS_WITH_LOOKALIKES = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH", "MATHEMATICAL"}
)
"""Scripts with letters that look alike, by the first word of the letters' Unicode names."""
LATIN_LOOKALIKES = frozenset("авеіјӏкмнорѕтухһԁԛԝгбьνοραικτυωγ" + "АВЕІЈКМНОРЅТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Cyrillic and Greek letters that look like Latin letters."""
JOINING = frozenset("./:@-_\\")
"""Characters that join words to hosts, paths and addresses."""
WORD_ENDS = frozenset(["", " ", '"'])
PUNCTUATION_LOOKALIKES = re.compile(r"(?<=[!-~])[․。．｡∕⁄⧸╱／∖⧵＼꞉∶：＠]+(?=[!-~])")
"""Characters that look like `.`, `/`, `\\`, `:` or `@`, between characters of ASCII."""


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
    digest: str
    """SHA-256 of the tool and the arguments: what was shown can be compared with what ran."""
    arguments: tuple[ShownArgument, ...]
    """Every argument, with long names and values shortened."""
    args: Mapping[str, Any] = field(repr=False)
    """The arguments that run if the request is approved. They may contain secrets."""
    _masked: Sequence[tuple[str, Any]] = field(repr=False)

    @property
    def hides_something(self) -> bool:
        """Whether a part of a name or a value is not shown."""
        return any(argument.hidden for argument in self.arguments)

    def complete_arguments(self) -> tuple[ShownArgument, ...]:
        """Return every argument with nothing hidden but secrets. Call it on a thread: they may be large."""
        return tuple(_show(name, value, None, None) for name, value in self._masked)

    def text(self) -> str:
        """Return the question without its last line: the tool, every argument and the digest."""
        return self._text(self.arguments)

    def complete_text(self) -> str:
        """Return the question with nothing hidden but secrets. Call it on a thread."""
        return self._text(self.complete_arguments())

    def _text(self, arguments: Sequence[ShownArgument]) -> str:
        heading = f"{_escape(self.tool)} is not read-only. " + (
            "Arguments:" if arguments else "No arguments."
        )
        lines = [f"  {argument}" for argument in arguments]
        return "\n".join([heading, *lines, f"Digest: {self.digest[:SHOWN_DIGITS]}"])


def approval_request(tool: str, args: Mapping[str, Any], mask: Callable[[Any], Any]) -> ApprovalRequest:
    """Copy the arguments of a call, so that later changes to them do not run.

    Raises:
        ValueError: The arguments are nested too deeply or contain themselves.
    """
    copy: dict[str, Any] = json.loads(encode(jsonable(args)))
    masked = [(mask(name), mask(value)) for name, value in copy.items()]
    share = max(MAX_TOTAL_LENGTH // max(len(masked), 1), MIN_LENGTH)
    max_name, max_value = min(share, MAX_NAME_LENGTH), min(share, MAX_VALUE_LENGTH)
    shown = tuple(_show(name, value, max_name, max_value) for name, value in masked)
    return ApprovalRequest(tool, call_digest(tool, copy), shown, copy, masked)


def call_digest(tool: str, args: Mapping[str, Any]) -> str:
    """Return the SHA-256 of `{"args":...,"tool":...}` as JSON with sorted keys, no spaces and only ASCII."""
    call = json.dumps({"args": args, "tool": tool}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(call.encode()).hexdigest()


def _show(name: str, value: Any, max_name: int | None, max_value: int | None) -> ShownArgument:
    # Names are ASCII, so that none looks like another one.
    shown_name, hidden_in_name = _shorten(json.dumps(name), max_name)
    shown_value, hidden_in_value = _escape_and_shorten(json.dumps(value, ensure_ascii=False), max_value)
    return ShownArgument(shown_name, shown_value, hidden_in_name + hidden_in_value)


def _escape_and_shorten(text: str, limit: int | None) -> tuple[str, int]:
    """Return as much of a text as fits when it is escaped, and the number of its hidden characters."""
    length = limit
    while True:
        shown, hidden = _shorten(text, length)
        escaped = _escape(shown)
        if limit is None or length is None or len(escaped) <= limit + len(GAP):
            return escaped, hidden
        length = length * 2 // 3


def _shorten(text: str, limit: int | None) -> tuple[str, int]:
    """Return the start and the end of a long text, and the number of characters between them."""
    if limit is None or len(text) <= limit:
        return text, 0
    start, end = limit - limit // 3, limit // 3
    return f"{text[:start]}{GAP}{text[len(text) - end :]}", len(text) - start - end


def _escape(text: str) -> str:
    """Escape characters that are invisible, reorder text or look like others."""
    if text.isascii() and text.isprintable():
        return text
    words = WORD.sub(_escape_word, text)
    words = PUNCTUATION_LOOKALIKES.sub(lambda found: _escape_characters(found.group()), words)
    return "".join(
        char if char.isprintable() and not INVISIBLE.match(char) else _escape_characters(char)
        for char in words
    )


def _escape_word(found: re.Match[str]) -> str:
    """Escape a word that mixes look-alike letters, or that looks like a Latin part of an address."""
    word = found.group()
    if word.isascii():
        return word
    is_mixed = len({_script(char) for char in word} & SCRIPTS_WITH_LOOKALIKES) > 1
    if is_mixed or (LATIN_LOOKALIKES.issuperset(word) and _is_in_address(found)):
        return "".join(char if char.isascii() else _escape_characters(char) for char in word)
    return word


def _is_in_address(found: re.Match[str]) -> bool:
    """Whether a dot or a slash, for example, joins a word to another one."""
    text, (start, end) = found.string, found.span()
    before, after = text[max(start - 2, 0) : start], text[end : end + 2]
    return (before[-1:] in JOINING and before[:1] not in WORD_ENDS) or (
        after[:1] in JOINING and after[1:] not in WORD_ENDS
    )


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def _escape_characters(text: str) -> str:
    return json.dumps(text)[1:-1]
