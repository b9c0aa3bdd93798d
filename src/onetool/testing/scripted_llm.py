"""A language model that says what it is told to: an OpenAI-compatible endpoint on loopback."""

import json
from collections.abc import Sequence
from typing import Any

from .http_stub import HttpStub, Reply, Request

PATH = "/v1/chat/completions"


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
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        return Reply(
            {
                "id": f"chat_{len(self.asked)}",
                "object": "chat.completion",
                "created": 0,
                "model": self.asked[-1].get("model", "scripted"),
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            }
        )
