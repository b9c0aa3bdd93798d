"""A language model that says what it is told to: an OpenAI-compatible endpoint on loopback."""

import json
import re
from collections.abc import Sequence
from typing import Any

from .http_stub import HttpStub, Reply, Request

PATH = "/v1/chat/completions"
USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def text(content: str) -> dict[str, Any]:
    """A turn in which the model answers."""
    return {"role": "assistant", "content": content}


def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A turn in which the model asks for tools: names as the provider sees them, and arguments."""
    made = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for index, (name, args) in enumerate(wanted)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


class ScriptedLLM(HttpStub):
    """Answers each request with the next turn, and the last one for ever; `asked` holds what it was sent."""

    def __init__(self, turns: Sequence[dict[str, Any]]) -> None:
        super().__init__({PATH: self._turn})
        self._turns = list(turns)
        self.asked: list[dict[str, Any]] = []

    @property
    def base_url(self) -> str:
        """What a client of OpenAI's API is given."""
        return f"{self.url}/v1"

    def _turn(self, request: Request) -> Reply:
        self.asked.append(json.loads(request.body))
        message = self._turns[min(len(self.asked), len(self._turns)) - 1]
        if self.asked[-1].get("stream"):
            return Reply(self._stream(message), headers={"Content-Type": "text/event-stream"})
        choice = {"index": 0, "message": message, "finish_reason": _reason(message)}
        return Reply({**self._head("chat.completion"), "choices": [choice], "usage": USAGE})

    def _stream(self, message: dict[str, Any]) -> str:
        """The same in pieces, as they would come."""
        head = self._head("chat.completion.chunk")
        calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls") or ())]
        deltas: list[dict[str, Any]] = [
            {"role": "assistant"},
            *({"content": word} for word in _words(message.get("content") or "")),
        ]
        deltas += [{"tool_calls": [call]} for call in calls]
        choices: list[dict[str, Any]] = [
            {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
        ]
        choices.append({"index": 0, "delta": {}, "finish_reason": _reason(message)})
        events = [{**head, "choices": [choice]} for choice in choices]
        events.append({**head, "choices": [], "usage": USAGE})
        return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"

    def _head(self, kind: str) -> dict[str, Any]:
        model = self.asked[-1].get("model", "scripted")
        return {"id": f"chat_{len(self.asked)}", "object": kind, "created": 0, "model": model}


def _reason(message: dict[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)
