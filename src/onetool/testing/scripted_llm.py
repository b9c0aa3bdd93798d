"""A scripted language model: an OpenAI-compatible server on the loopback interface."""

import json
import re
from collections.abc import Sequence
from typing import Any

from .http_stub import HttpStub, RecordedRequest, StubResponse

PATH = "/v1/chat/completions"
USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def text(content: str) -> dict[str, Any]:
    """Return a turn in which the model answers with a text."""
    return {"role": "assistant", "content": content}


def calls(*requests: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a turn in which the model calls tools, given as pairs of wire name and arguments."""
    tool_calls = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for index, (name, args) in enumerate(requests)
    ]
    return {"role": "assistant", "content": None, "tool_calls": tool_calls}


class ScriptedLLM(HttpStub):
    """Responds to each request with the next turn, and repeats the last. `bodies`: the JSON received."""

    def __init__(self, turns: Sequence[dict[str, Any]]) -> None:
        super().__init__({PATH: self._turn})
        self._turns = list(turns)
        self.bodies: list[dict[str, Any]] = []

    @property
    def base_url(self) -> str:
        """The base URL for a client of the OpenAI API."""
        return f"{self.url}/v1"

    def _turn(self, request: RecordedRequest) -> StubResponse:
        self.bodies.append(json.loads(request.body))
        message = self._turns[min(len(self.bodies), len(self._turns)) - 1]
        if self.bodies[-1].get("stream"):
            return StubResponse(self._stream(message), headers={"Content-Type": "text/event-stream"})
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(message)}
        return StubResponse({**self._common_fields("chat.completion"), "choices": [choice], "usage": USAGE})

    def _stream(self, message: dict[str, Any]) -> str:
        """Return the message as server-sent events, in chunks."""
        fields = self._common_fields("chat.completion.chunk")
        calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls") or ())]
        deltas: list[dict[str, Any]] = [
            {"role": "assistant"},
            *({"content": word} for word in _words(message.get("content") or "")),
        ]
        deltas += [{"tool_calls": [call]} for call in calls]
        choices: list[dict[str, Any]] = [
            {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
        ]
        choices.append({"index": 0, "delta": {}, "finish_reason": _finish_reason(message)})
        events = [{**fields, "choices": [choice]} for choice in choices]
        events.append({**fields, "choices": [], "usage": USAGE})
        return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"

    def _common_fields(self, kind: str) -> dict[str, Any]:
        model = self.bodies[-1].get("model", "scripted")
        return {"id": f"chat_{len(self.bodies)}", "object": kind, "created": 0, "model": model}


def _finish_reason(message: dict[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)
