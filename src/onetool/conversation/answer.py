"""What came of a question: the answer, and every call on the way to it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from onetool.domain.call import ToolCall, ToolResult
from onetool.domain.chat import ChatFailed, Stop, TokenCount

PER_PRICE = 1_000_000
"""Prices are for so many tokens."""


class TextPiece(NamedTuple):
    """A piece of what the model says, as it comes."""

    text: str


class CallStarted(NamedTuple):
    """A tool is being called."""

    call: ToolCall


class CallEnded(NamedTuple):
    """A tool has answered, or failed, or was not called."""

    call: ToolCall
    result: ToolResult


Event = TextPiece | CallStarted | CallEnded
Tell = Callable[[Event], None]
"""Is told what happens while it happens."""


@dataclass(slots=True, kw_only=True)
class Answer:
    """The end of one question; filled while it is being answered."""

    session: str
    provider: str
    model: str
    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    """One for each call, in the same order."""
    tokens: TokenCount = field(default_factory=TokenCount)
    is_estimated: bool = False
    """Whether tokens were counted here, at four characters each, because the provider did not say."""
    prices: tuple[float, float] | None = None
    """What a million tokens cost that are read, and that are written."""
    stop: Stop = "end"
    """How the answer ended: `length` where it was cut off, `refused` where the model would not."""
    failure: ChatFailed | None = None
    """Why there is no answer."""

    @property
    def cost(self) -> float | None:
        """What it cost, where prices are known."""
        if self.prices is None:
            return None
        read, written = self.prices
        return round((self.tokens.input * read + self.tokens.output * written) / PER_PRICE, 6)

    @property
    def first_error(self) -> Mapping[str, str] | None:
        """The first call that failed."""
        errors = (result.error for result in self.results if result.error is not None)
        return next((error.to_json() for error in errors), None)

    def to_json(self) -> dict[str, Any]:
        """The answer as programs read it; `data` of results is still the native object."""
        tokens = {"input": self.tokens.input, "output": self.tokens.output, "estimated": self.is_estimated}
        failure = self.failure and {"kind": self.failure.kind, "message": str(self.failure)}
        return {
            "answer": self.text,
            "stop": self.stop,
            "toolCalls": [call.to_json() for call in self.calls],
            "toolResults": [result.to_json() for result in self.results],
            "toolError": self.first_error,
            "sessionContextUpdated": bool(self.results),
            "session": self.session,
            "provider": self.provider,
            "model": self.model,
            "tokens": tokens,
            "cost": self.cost,
            "error": failure,
        }
