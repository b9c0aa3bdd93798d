"""What is said to a chat model and what it says back, whoever serves it.

Tools go by their own names here; how a provider writes them is known to the adapters alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from .errors import OneToolError

Role = Literal["system", "user", "assistant", "tool"]
Stop = Literal["end", "calls", "length", "refused"]
Failure = Literal["auth", "rate_limited", "timeout", "unreachable", "rejected", "rubbish"]
FAILURES: frozenset[Failure] = frozenset(get_args(Failure))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequest:
    """A tool call that a model asks for."""

    id: str
    """Never empty; where the provider gives none the adapter makes one."""
    name: str
    arguments_text: str = "{}"
    """JSON as the model wrote it, unread: it may be rubbish. Never empty."""
    seal: str = ""
    """What the provider wants back together with this call, in its own form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One entry of a conversation."""

    role: Role
    text: str = ""
    calls: tuple[ToolCallRequest, ...] = ()
    """Of an assistant; each must be answered by a tool message before anybody else speaks."""
    call_id: str = ""
    """Of a tool: the call that it answers."""
    name: str = ""
    """Of a tool: the tool that was called."""
    failed: bool = False
    """Of a tool: the text is an error."""
    at: float | None = field(default=None, compare=False)
    """When it was said, in seconds since 1970; None: just now, or never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool as a model is told of it."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """What a reply cost, as the provider counts."""

    input: int = 0
    output: int = 0

    def plus(self, other: "TokenCount") -> "TokenCount":
        """Both together."""
        return TokenCount(input=self.input + other.input, output=self.output + other.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """All that a model said in one turn."""

    text: str = ""
    calls: tuple[ToolCallRequest, ...] = ()
    """In the order in which they are to run. A call that was cut off or refused is not among them."""
    tokens: TokenCount | None = None
    """None where the provider did not say."""
    stop: Stop = "end"

    def message(self) -> Message:
        """The reply as an entry of the conversation."""
        return Message(role="assistant", text=self.text, calls=self.calls)


class ChatFailed(OneToolError):
    """A chat model gave no reply; the message is for a person and holds no key."""

    def __init__(self, kind: Failure, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        """Seconds after which the provider wants to be asked again; None where it did not say."""
