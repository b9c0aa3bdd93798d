"""A conversation as two sides that speak in turn, for providers that know no more."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from onetool.domain.chat import Message

T = TypeVar("T")
USER, ASSISTANT = "user", "assistant"


def system_text(messages: Sequence[Message]) -> str:
    """Everything that the system says, in one text."""
    return "\n\n".join(message.text for message in messages if message.role == "system" and message.text)


def in_turns(
    messages: Sequence[Message], parts_of: Callable[[Message], list[T]]
) -> list[tuple[str, list[T]]]:
    """Gather the parts of neighbouring messages of one side; the results of tools are on the user's.

    What the system says is left out, and a message without parts is passed over.
    """
    turns: list[tuple[str, list[T]]] = []
    for message in messages:
        parts = parts_of(message) if message.role != "system" else []
        side = ASSISTANT if message.role == "assistant" else USER
        if parts and turns and turns[-1][0] == side:
            turns[-1][1].extend(parts)
        elif parts:
            turns.append((side, parts))
    return turns
