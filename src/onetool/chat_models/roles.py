"""Conversations with two alternating roles, for providers that support only those."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from onetool.domain.chat.messages import Message

T = TypeVar("T")
USER, ASSISTANT = "user", "assistant"


def system_text(messages: Sequence[Message]) -> str:
    """Return all system messages as one text."""
    return "\n\n".join(message.text for message in messages if message.role == "system" and message.text)


def merge_roles(
    messages: Sequence[Message], parts_of: Callable[[Message], list[T]]
) -> list[tuple[str, list[T]]]:
    """Merge the parts of adjacent messages with the same role. Tool results belong to the user.

    System messages and messages without parts are skipped.
    """
    turns: list[tuple[str, list[T]]] = []
    for message in messages:
        parts = parts_of(message) if message.role != "system" else []
        role = ASSISTANT if message.role == "assistant" else USER
        if parts and turns and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        elif parts:
            turns.append((role, parts))
    return turns
