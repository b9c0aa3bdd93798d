"""Provider-independent messages to and from a chat model.

Tools have their OneTool names here. Adapters convert them to the names that a provider accepts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from onetool.domain.content.audience import Reader
from onetool.domain.content.media import Media
from onetool.domain.content.reference import MediaReference
from onetool.domain.errors import OneToolError

Role = Literal["system", "user", "assistant", "tool"]
Stop = Literal["end", "calls", "length", "refused"]
Failure = Literal["auth", "rate_limited", "timeout", "unreachable", "rejected", "malformed", "empty"]
FAILURES: frozenset[Failure] = frozenset(get_args(Failure))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequest:
    """A tool call that a model requests."""

    id: str
    """Never empty; the adapter creates an id if the provider sends none."""
    name: str
    arguments_text: str = "{}"
    """Arguments as the model wrote them, not validated: may not be valid JSON. Never empty."""
    signature: str = ""
    """Opaque provider data that must be sent back with this call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of a conversation."""

    role: Role
    text: str = ""
    calls: tuple[ToolCallRequest, ...] = ()
    """Assistant messages: requested calls. A tool message for each must follow before any other message."""
    call_id: str = ""
    """Tool messages: id of the call."""
    name: str = ""
    """Tool messages: name of the tool."""
    failed: bool = False
    """Tool messages: whether the text is an error."""
    user_text: str | None = None
    """What the user sees in place of the text. None: the same text."""
    media: tuple[MediaReference, ...] = ()
    """Tool messages: the media in the result. User messages: the attached images."""
    images: tuple[Media, ...] = ()
    """Those of the media that are sent to the model as images."""
    at: float | None = field(default=None, compare=False)
    """Time of the message in seconds since the epoch. None: not recorded."""

    @property
    def text_for_user(self) -> str:
        """The text that the user sees."""
        return self.text if self.user_text is None else self.user_text

    def media_for(self, reader: Reader) -> list[MediaReference]:
        """Return the media that are for a reader."""
        return [reference for reference in self.media if reader in reference.readers]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """A tool as it is described to a model."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """Tokens of a response, as counted by the provider."""

    input: int = 0
    output: int = 0

    def plus(self, other: "TokenCount") -> "TokenCount":
        """Return the sum of both counts."""
        return TokenCount(input=self.input + other.input, output=self.output + other.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """A model's response in one turn."""

    text: str = ""
    calls: tuple[ToolCallRequest, ...] = ()
    """Requested calls in the order to run. Truncated or refused calls are omitted."""
    tokens: TokenCount | None = None
    """None: not reported by the provider."""
    stop: Stop = "end"

    def message(self) -> Message:
        """Return the response as an assistant message."""
        return Message(role="assistant", text=self.text, calls=self.calls)


class ChatModelError(OneToolError):
    """A chat model returned no response. The message is for users and contains no key."""

    def __init__(self, kind: Failure, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        """Seconds to wait before the next request. None: not specified by the provider."""
