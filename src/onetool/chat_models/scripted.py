"""A chat model without a language model: it replays a script, or calls the tool that matches the question.

For tests, demonstrations, and `ask` without an API key or network access.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence

from onetool.domain.chat.messages import (
    ChatModelError,
    Message,
    ModelResponse,
    TokenCount,
    ToolCallRequest,
    ToolDefinition,
)
from onetool.domain.search.tokenizer import tokenize
from onetool.domain.usage.summary import estimate_tokens

from .script import ScriptedTurn
from .tool_names import ToolNameCodec

END_OF_SCRIPT = "The script is over."
NO_TOOL = (
    "This is the scripted model, not a language model. "
    "Ask for something that a tool without required arguments can do."
)
CHUNK = re.compile(r"\S+\s*|\s+")
"""A word with the whitespace after it, similar to the chunks of a real model."""


class ScriptedChat:
    """Replays the turns of a script. Without a script it calls the tool that best matches the question."""

    def __init__(
        self, script: Sequence[ScriptedTurn] | None = None, *, name: str = "scripted", model: str = "script"
    ) -> None:
        self.name, self.model, self.image_types = name, model, frozenset[str]()
        self._script = script
        self._position = 0
        self._call_count = 0

    async def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolDefinition],
        *,
        on_text: Callable[[str], None],
        deadline: float,
    ) -> ModelResponse:
        """Return the next turn of the script, or the default one."""
        turn = _default_turn(messages, tools) if self._script is None else self._next_turn()
        try:
            async with asyncio.timeout_at(deadline):
                await asyncio.sleep(turn.delay_s)
        except TimeoutError:
            raise ChatModelError("timeout", f"{self.name} did not respond in time.") from None
        _check_turn(turn, messages)
        for chunk in CHUNK.findall(turn.text):
            on_text(chunk)
        calls = tuple(self._call_requests(turn, ToolNameCodec(messages, tools)))
        return ModelResponse(
            text=turn.text, calls=calls, tokens=_tokens(messages, turn), stop="calls" if calls else "end"
        )

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def _next_turn(self) -> ScriptedTurn:
        script = self._script or ()
        turn = script[self._position] if self._position < len(script) else ScriptedTurn(text=END_OF_SCRIPT)
        self._position += 1
        return turn

    def _call_requests(self, turn: ScriptedTurn, codec: ToolNameCodec) -> Iterator[ToolCallRequest]:
        for name, arguments in turn.calls:
            self._call_count += 1
            yield ToolCallRequest(
                id=f"call_{self._call_count}",
                name=codec.decode(name),
                arguments_text=arguments.strip() or "{}",
            )


def _check_turn(turn: ScriptedTurn, messages: Sequence[Message]) -> None:
    new = "\n".join(message.text for message in _since_last_reply(messages))
    for part in turn.expect:
        if part not in new:
            raise ChatModelError(
                "rejected", f"The script expects {part!r} in the new messages. They are: {new!r}"
            )
    if turn.error is not None:
        raise ChatModelError(turn.error.kind, str(turn.error), retry_after=turn.error.retry_after)


def _default_turn(messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> ScriptedTurn:
    """Call the tool that matches the question, then answer with its result."""
    new = _since_last_reply(messages)
    results = [message.text for message in new if message.role == "tool"]
    if results:
        return ScriptedTurn(text="\n".join(results))
    question = "\n".join(message.text for message in new if message.role == "user")
    tool = _best_match(question, tools)
    return ScriptedTurn(calls=((tool, "{}"),)) if tool else ScriptedTurn(text=NO_TOOL)


def _best_match(question: str, tools: Sequence[ToolDefinition]) -> str:
    """Return the first tool with the most words in common with the question; words of the name count more."""
    words = set(tokenize(question))
    best, best_score = "", 0
    for tool in tools:
        name, description = words & set(tokenize(tool.name)), words & set(tokenize(tool.description))
        score = 3 * len(name) + len(description)
        if score > best_score and not tool.schema.get("required"):
            best, best_score = tool.name, score
    return best


def _since_last_reply(messages: Sequence[Message]) -> Sequence[Message]:
    replies = [index for index, message in enumerate(messages) if message.role == "assistant"]
    return messages[replies[-1] + 1 :] if replies else messages


def _tokens(messages: Sequence[Message], turn: ScriptedTurn) -> TokenCount:
    """Estimate the token count."""
    read = sum(len(message.text) for message in messages)
    written = len(turn.text) + sum(len(name) + len(arguments) for name, arguments in turn.calls)
    return TokenCount(input=estimate_tokens(read), output=estimate_tokens(written))
