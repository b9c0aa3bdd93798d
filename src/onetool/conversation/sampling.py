"""Requests of servers to the model of a conversation (sampling). The user sees and accepts each one first."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from onetool.domain.calls.question import CANCELLED, Answer, Asker, Question
from onetool.domain.chat.messages import ChatModelError, Message, ModelResponse

SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}
STOP_REASONS = {"length": "maxTokens", "refused": "refusal"}
Reply = Callable[[Sequence[Message]], Awaitable[ModelResponse]]
"""Returns the response of the model."""


def with_sampling(asker: Asker, model: str, reply: Reply) -> Asker:
    """Return an asker that answers sampling with a model, once the user has accepted the request.

    model: the name of the model, which the user and the server are told.
    """
    if "form" not in asker.kinds:
        return asker

    async def ask(question: Question) -> Answer:
        if question.kind != "sampling":
            return await asker.ask(question)
        messages = _messages(question.params)
        if messages is None:
            return CANCELLED
        text = f"May it send this request to the model {model!r}?\n{question.message}"
        confirmed = await asker.ask(replace(question, kind="form", message=text, schema=SCHEMA))
        if confirmed.action != "accept":
            return confirmed
        try:
            return Answer("accept", _result(await reply(messages), model))
        except ChatModelError:
            return CANCELLED

    return replace(asker, ask=ask, capabilities={**asker.capabilities, "sampling": {}})


def _messages(params: Mapping[str, Any]) -> list[Message] | None:
    """Return the messages of a request, or None if it is invalid or has more than texts.

    The conversation itself is not among them, whatever the server wishes.
    """
    system, listed = params.get("systemPrompt", ""), params.get("messages")
    if not isinstance(listed, list) or not listed or not isinstance(system, str) or params.get("tools"):
        return None
    messages = [Message(role="system", text=system)] if system else []
    for item in listed:
        text = _text(item.get("content")) if isinstance(item, Mapping) else None
        if text is None or item.get("role") not in ("user", "assistant"):
            return None
        messages.append(Message(role=item["role"], text=text))
    return messages


def _text(content: Any) -> str | None:
    parts = content if isinstance(content, list) else [content]
    texts = [
        part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]
    return "\n".join(texts) if len(texts) == len(parts) else None


def _result(response: ModelResponse, model: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": {"type": "text", "text": response.text},
        "model": model,
        "stopReason": STOP_REASONS.get(response.stop, "endTurn"),
    }
