"""A chat model without a model: it follows a script, or calls the tool that the question is about.

For tests, for demonstrations, and for `ask` on a machine that has neither a key nor a network.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence

from onetool.domain.chat import ChatFailed, Message, Offer, Reply, TokenCount, ToolCallRequest
from onetool.domain.finding_words import words
from onetool.domain.usage import tokens

from .script import Turn
from .wire import Wire

OVER = "The script is over."
NO_TOOL = (
    "I am the scripted model: no language model answers here. "
    "Ask for something that a tool without required arguments can do."
)
PIECE = re.compile(r"\S+\s*|\s+")
"""A word with the blanks behind it: how text comes from a model."""


class ScriptedChat:
    """Says the turns of a script one after the other; without a script it follows a simple habit."""

    def __init__(
        self, script: Sequence[Turn] | None = None, *, name: str = "scripted", model: str = "script"
    ) -> None:
        self.name, self.model = name, model
        self._script = script
        self._next = 0
        self._calls = 0

    async def reply(
        self,
        messages: Sequence[Message],
        offers: Sequence[Offer],
        *,
        on_text: Callable[[str], None],
        deadline: float,
    ) -> Reply:
        """Say the next turn."""
        turn = _habit(messages, offers) if self._script is None else self._scripted()
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                await asyncio.sleep(turn.delay_s)
        except TimeoutError:
            raise ChatFailed("timeout", f"{self.name} did not finish its answer in time.") from None
        _check(turn, messages)
        for piece in PIECE.findall(turn.text):
            on_text(piece)
        calls = tuple(self._requests(turn, Wire(messages, offers)))
        return Reply(
            text=turn.text, calls=calls, tokens=_tokens(messages, turn), stop="calls" if calls else "end"
        )

    async def aclose(self) -> None:
        """There is nothing to close."""

    def _scripted(self) -> Turn:
        script = self._script or ()
        turn = script[self._next] if self._next < len(script) else Turn(text=OVER)
        self._next += 1
        return turn

    def _requests(self, turn: Turn, wire: Wire) -> Iterator[ToolCallRequest]:
        for name, arguments in turn.calls:
            self._calls += 1
            yield ToolCallRequest(
                id=f"call_{self._calls}", name=wire.back(name), arguments_text=arguments.strip() or "{}"
            )


def _check(turn: Turn, messages: Sequence[Message]) -> None:
    new = "\n".join(message.text for message in _since_last_reply(messages))
    for part in turn.expect:
        if part not in new:
            raise ChatFailed(
                "rejected", f"The script expects {part!r} in what it is sent. It was sent: {new!r}"
            )
    if turn.error is not None:
        raise ChatFailed(turn.error.kind, str(turn.error), retry_after=turn.error.retry_after)


def _habit(messages: Sequence[Message], offers: Sequence[Offer]) -> Turn:
    """Call the tool that the question names, then answer with what it returned."""
    new = _since_last_reply(messages)
    results = [message.text for message in new if message.role == "tool"]
    if results:
        return Turn(text="\n".join(results))
    question = "\n".join(message.text for message in new if message.role == "user")
    chosen = _chosen(question, offers)
    return Turn(calls=((chosen, "{}"),)) if chosen else Turn(text=NO_TOOL)


def _chosen(question: str, offers: Sequence[Offer]) -> str:
    """The tool that shares most words with the question, its name counting more; the first among equals."""
    asked = set(words(question))
    best, most = "", 0
    for offer in offers:
        name, description = asked & set(words(offer.name)), asked & set(words(offer.description))
        score = 3 * len(name) + len(description)
        if score > most and not offer.schema.get("required"):
            best, most = offer.name, score
    return best


def _since_last_reply(messages: Sequence[Message]) -> Sequence[Message]:
    spoken = [at for at, message in enumerate(messages) if message.role == "assistant"]
    return messages[spoken[-1] + 1 :] if spoken else messages


def _tokens(messages: Sequence[Message], turn: Turn) -> TokenCount:
    """An estimate, as everywhere in the product."""
    said = sum(len(message.text) for message in messages)
    written = len(turn.text) + sum(len(name) + len(arguments) for name, arguments in turn.calls)
    return TokenCount(input=tokens(said), output=tokens(written))
