"""The result of a question, and the events while it is being answered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from onetool.domain.calls.call import ToolCall, ToolResult
from onetool.domain.chat.messages import ChatModelError, Stop, TokenCount
from onetool.domain.content.parts import media_in
from onetool.domain.content.reference import MediaReference

TOKENS_PER_PRICE = 1_000_000
"""Prices are per this many tokens."""


class TextDelta(NamedTuple):
    """A piece of the model's text, as it arrives."""

    text: str


class ToolCallStarted(NamedTuple):
    """A tool call has started."""

    call: ToolCall


class ToolCallFinished(NamedTuple):
    """A tool call has succeeded, failed or been rejected."""

    call: ToolCall
    result: ToolResult
    """What the user sees."""


def result_json(result: ToolResult) -> dict[str, Any]:
    """Return a result as a dict; its media, if there are any, are in `content`."""
    media = [MediaReference.of(item).to_json() for item in media_in(result.parts)]
    return result.to_json() | ({"content": media} if media else {})


Event = TextDelta | ToolCallStarted | ToolCallFinished
EventHandler = Callable[[Event], None]
"""Receives events while a question is being answered."""


@dataclass(slots=True, kw_only=True)
class AskResult:
    """The result of one question, filled in while it is being answered."""

    session: str
    provider: str
    model: str
    text: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    """One result per call, in the same order, as the user sees it."""
    tokens: TokenCount = field(default_factory=TokenCount)
    is_estimated: bool = False
    """Whether tokens were estimated at four characters each, because the provider did not report them."""
    prices: tuple[float, float] | None = None
    """Prices of a million input tokens and a million output tokens."""
    stop: Stop = "end"
    """Why the answer ended: `length` if it was cut off, `refused` if the model refused."""
    failure: ChatModelError | None = None
    """The error of the chat model, if there is no answer."""

    @property
    def cost(self) -> float | None:
        """The cost, or None if the prices are not configured."""
        if self.prices is None:
            return None
        input_price, output_price = self.prices
        return round(
            (self.tokens.input * input_price + self.tokens.output * output_price) / TOKENS_PER_PRICE, 6
        )

    @property
    def first_error(self) -> Mapping[str, str] | None:
        """The error of the first call that failed."""
        errors = (result.error for result in self.results if result.error is not None)
        return next((error.to_json() for error in errors), None)

    def to_json(self) -> dict[str, Any]:
        """Return the result as a dict. `data` of tool results is not converted to JSON."""
        tokens = {"input": self.tokens.input, "output": self.tokens.output, "estimated": self.is_estimated}
        failure = self.failure and {"kind": self.failure.kind, "message": str(self.failure)}
        return {
            "answer": self.text,
            "stop": self.stop,
            "toolCalls": [call.to_json() for call in self.calls],
            "toolResults": [result_json(result) for result in self.results],
            "toolError": self.first_error,
            "sessionContextUpdated": bool(self.results),
            "session": self.session,
            "provider": self.provider,
            "model": self.model,
            "tokens": tokens,
            "cost": self.cost,
            "error": failure,
        }
