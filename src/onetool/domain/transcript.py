"""A conversation as it is kept: records in the order in which things happened, and what they add up to."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import takewhile
from typing import Any, NamedTuple, get_args

import orjson

from .chat import Message, Role, TokenCount, ToolCallRequest
from .errors import OneToolError
from .json_text import jsonable
from .texts import cut, first_line

Record = Mapping[str, Any]
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
ROLES = frozenset(get_args(Role))
LONGEST_TITLE = 80
INTERRUPTED = "Error: the call was interrupted; whether it ran is not known."


class BadSession(OneToolError):
    """A session that cannot be used, and why."""


class Head(NamedTuple):
    """A session as a list shows it."""

    id: str
    title: str
    at: float
    """When something was last added, in seconds since 1970."""
    messages: int

    def to_json(self) -> dict[str, Any]:
        """The session as every door writes it."""
        return self._asdict()


class Kept(NamedTuple):
    """A result that may be used again."""

    data: Any


@dataclass(slots=True)
class Transcript:
    """What the records of a session add up to."""

    messages: list[Message] = field(default_factory=list)
    allowed: frozenset[str] | None = None
    """The tools that the last `--tool-allow` named; None: there was none."""
    title: str = ""
    kept: dict[str, Kept] = field(default_factory=dict)
    """Results of cacheable tools, by `call_key`."""
    tokens: TokenCount = field(default_factory=TokenCount)


def check_name(name: str) -> str:
    """Return the name of a session, if it can be one.

    Raises BadSession.
    """
    if not NAME.fullmatch(name):
        raise BadSession(f"{name!r} cannot name a session: use letters, digits, dots, dashes; at most 100.")
    return name


def said(message: Message, ask: str, at: float, **more: Any) -> Record:
    """A record of a message; `ask` ties together what belongs to one question."""
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
    return record | {key: value for key, value in more.items() if value is not None}


def add_up(records: Iterable[Record]) -> Transcript:
    """Make a transcript of records; those of another kind, or of a later version, are passed over."""
    found, asks = Transcript(), dict[str, list[Message]]()
    for record in records:
        take = TAKE.get(str(record.get("type")))
        if take is not None:
            with suppress(KeyError, TypeError, ValueError):  # written by another version, or by hand
                take(found, asks, record)
    found.messages = [message for asked in asks.values() for message in answered(asked)]
    return found


def answered(messages: Sequence[Message]) -> list[Message]:
    """The messages of one question, with an answer to every call: a crash may have left one without."""
    whole: list[Message] = []
    for place, message in enumerate(messages):
        if message.role != "tool":
            rest = takewhile(lambda one: one.role == "tool", messages[place + 1 :])
            told = {one.call_id: one for one in rest}  # ids need only differ within a turn
            whole += [message, *(told.get(call.id) or _interrupted(call) for call in message.calls)]
    return whole


def call_key(tool: str, version: str, args: Mapping[str, Any], place: str = "") -> str:
    """What tells two calls apart, for results that may be used again; place: where they are made."""
    canonical = json.dumps([tool, version, args, place], sort_keys=True, default=str)
    return sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def to_line(record: Record) -> bytes:
    """A record as a line of a file."""
    try:
        return orjson.dumps(record) + b"\n"
    except TypeError:  # halves of characters, which no JSON can hold; results that are not plain JSON
        return json.dumps(jsonable(record), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _interrupted(call: ToolCallRequest) -> Message:
    return Message(role="tool", text=INTERRUPTED, call_id=call.id, name=call.name, failed=True)


def _take_message(found: Transcript, asks: dict[str, list[Message]], record: Record) -> None:
    if not isinstance(record["text"], str) or record["role"] not in ROLES:
        raise TypeError(record["role"])
    message = Message(
        role=record["role"],
        text=record["text"],
        calls=tuple(_call(said) for said in record.get("calls", ())),
        call_id=record.get("callId", ""),
        name=record.get("name", ""),
        failed=record.get("failed", False),
        at=record.get("at"),
    )
    asks.setdefault(record.get("ask", ""), []).append(message)
    if key := record.get("key"):
        found.kept[key] = Kept(record.get("data"))
    if not found.title and message.role == "user":
        found.title = cut(first_line(message.text), LONGEST_TITLE)
    if tokens := record.get("tokens"):
        found.tokens = found.tokens.plus(TokenCount(**tokens))


def _take_allowed(found: Transcript, asks: dict[str, list[Message]], record: Record) -> None:
    found.allowed = frozenset()  # a list that cannot be read allows nothing
    found.allowed = frozenset(record["tools"])


def _take_title(found: Transcript, asks: dict[str, list[Message]], record: Record) -> None:
    found.title = cut(first_line(record["title"]), LONGEST_TITLE)


TAKE = {"message": _take_message, "allowed": _take_allowed, "title": _take_title}


def _call_json(call: ToolCallRequest) -> dict[str, str]:
    written = {"id": call.id, "name": call.name, "arguments": call.arguments_text, "seal": call.seal}
    return {key: value for key, value in written.items() if value}


def _call(said: Mapping[str, str]) -> ToolCallRequest:
    return ToolCallRequest(
        id=said["id"], name=said["name"], arguments_text=said["arguments"], seal=said.get("seal", "")
    )
