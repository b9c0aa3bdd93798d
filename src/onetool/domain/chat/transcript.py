"""The stored form of a conversation: an ordered log of records, and its replay into a transcript."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import takewhile
from typing import Any, NamedTuple, get_args

import orjson

from onetool.domain.content.reference import MediaReference
from onetool.domain.errors import OneToolError
from onetool.domain.text.json_text import jsonable
from onetool.domain.text.strings import first_line, truncate_middle

from .messages import Message, Role, TokenCount, ToolCallRequest

Record = Mapping[str, Any]
SESSION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
ROLES = frozenset(get_args(Role))
MAX_TITLE_LENGTH = 80
INTERRUPTED = "Error: The call was interrupted. It is not known whether it ran."


class InvalidSession(OneToolError):
    """A session does not exist or cannot be used."""


class SessionSummary(NamedTuple):
    """A session in a listing."""

    id: str
    title: str
    at: float
    """Time of the last record, in seconds since the epoch."""
    messages: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form used by every interface."""
        return self._asdict()


class CachedResult(NamedTuple):
    """A result that can be reused."""

    data: Any


@dataclass(slots=True)
class Transcript:
    """The state of a session after replaying its records."""

    messages: list[Message] = field(default_factory=list)
    allowed: frozenset[str] | None = None
    """Tools of the last `--tool-allow`. None: never given."""
    title: str = ""
    cached_results: dict[str, CachedResult] = field(default_factory=dict)
    """Results of cacheable tools, by `call_key`."""
    tokens: TokenCount = field(default_factory=TokenCount)


def check_session_name(name: str) -> str:
    """Return the name of a session if it is valid.

    Raises:
        InvalidSession: The name is empty, too long or contains another character.
    """
    if not SESSION_NAME.fullmatch(name):
        raise InvalidSession(
            f"Invalid session name {name!r}. Use at most 100 letters, digits, dots, dashes or underscores; "
            "the first must be a letter or digit."
        )
    return name


def message_record(message: Message, ask: str, at: float, **extra: Any) -> Record:
    """Return the record of a message. `ask` is the id shared by all records of one question."""
    record: dict[str, Any] = {
        "type": "message",
        "ask": ask,
        "at": at,
        "role": message.role,
        "text": message.text,
    }
    if message.calls:
        record["calls"] = [_call_json(call) for call in message.calls]
    if message.role == "tool":
        record |= {"callId": message.call_id, "name": message.name, "failed": message.failed}
    if message.user_text is not None:
        record["userText"] = message.user_text
    if message.media:
        record["media"] = [reference.to_json() for reference in message.media]
    return record | {key: value for key, value in extra.items() if value is not None}


def replay(records: Iterable[Record]) -> Transcript:
    """Build a transcript from records, skipping unknown kinds and records of later versions."""
    transcript, asks = Transcript(), dict[str, list[Message]]()
    for record in records:
        apply = APPLY.get(str(record.get("type")))
        if apply is not None:
            with suppress(KeyError, TypeError, ValueError):  # written by another version, or by hand
                apply(transcript, asks, record)
    transcript.messages = [message for messages in asks.values() for message in _complete_calls(messages)]
    return transcript


def _complete_calls(messages: Sequence[Message]) -> list[Message]:
    """Add a result to every call that has none, such as after a crash. `messages` belong to one question."""
    complete: list[Message] = []
    for index, message in enumerate(messages):
        if message.role != "tool":
            results = takewhile(lambda result: result.role == "tool", messages[index + 1 :])
            by_call = {result.call_id: result for result in results}  # ids are unique only within a turn
            complete += [message, *(by_call.get(call.id) or _interrupted(call) for call in message.calls)]
    return complete


def call_key(tool: str, version: str, args: Mapping[str, Any], cwd: str = "") -> str:
    """Return the key under which the result of a call is cached. `cwd` is where the call is made."""
    canonical = json.dumps([tool, version, args, cwd], sort_keys=True, default=str)
    return sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def to_line(record: Record) -> bytes:
    """Serialize a record as one line of a file."""
    try:
        return orjson.dumps(record) + b"\n"
    except TypeError:  # lone surrogates, or results that are not plain JSON
        return json.dumps(jsonable(record), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _interrupted(call: ToolCallRequest) -> Message:
    return Message(role="tool", text=INTERRUPTED, call_id=call.id, name=call.name, failed=True)


def _apply_message(transcript: Transcript, asks: dict[str, list[Message]], record: Record) -> None:
    if not isinstance(record["text"], str) or record["role"] not in ROLES:
        raise TypeError(record["role"])
    message = Message(
        role=record["role"],
        text=record["text"],
        calls=tuple(_parse_call(call) for call in record.get("calls", ())),
        call_id=record.get("callId", ""),
        name=record.get("name", ""),
        failed=record.get("failed", False),
        user_text=_optional_text(record.get("userText")),
        media=tuple(MediaReference.from_json(data) for data in record.get("media", ())),
        at=record.get("at"),
    )
    asks.setdefault(record.get("ask", ""), []).append(message)
    if key := record.get("key"):
        transcript.cached_results[key] = CachedResult(record.get("data"))
    if not transcript.title and message.role == "user":
        transcript.title = truncate_middle(first_line(message.text), MAX_TITLE_LENGTH)
    if tokens := record.get("tokens"):
        transcript.tokens = transcript.tokens.plus(TokenCount(**tokens))


def _optional_text(value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise TypeError(value)
    return value


def _apply_allowed(transcript: Transcript, asks: dict[str, list[Message]], record: Record) -> None:
    transcript.allowed = frozenset()  # an invalid list below allows no tools
    transcript.allowed = frozenset(record["tools"])


def _apply_title(transcript: Transcript, asks: dict[str, list[Message]], record: Record) -> None:
    transcript.title = truncate_middle(first_line(record["title"]), MAX_TITLE_LENGTH)


APPLY = {"message": _apply_message, "allowed": _apply_allowed, "title": _apply_title}


def _call_json(call: ToolCallRequest) -> dict[str, str]:
    data = {"id": call.id, "name": call.name, "arguments": call.arguments_text, "signature": call.signature}
    return {key: value for key, value in data.items() if value}


def _parse_call(data: Mapping[str, str]) -> ToolCallRequest:
    return ToolCallRequest(
        id=data["id"],
        name=data["name"],
        arguments_text=data["arguments"],
        signature=data.get("signature", ""),
    )
