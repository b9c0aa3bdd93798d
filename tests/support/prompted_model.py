"""A chat model on the loopback interface that does what the question says, at any number of requests."""

import json
import threading
from typing import Any

from onetool.testing.http_stub import RecordedRequest, StubResponse
from onetool.testing.scripted_llm import ScriptedLLM, calls, text
from support.waiting import HANG_S


def call_prompt(tool: str, **args: Any) -> str:
    """Return a question to which the model calls a tool, and then repeats its result."""
    return json.dumps({"tool": tool, "args": args})


def hold_prompt(name: str) -> str:
    """Return a question that the model answers once `release` was called with the name."""
    return json.dumps({"hold": name})


class PromptedModel(ScriptedLLM):
    """Needs no memory: the messages of a request say what comes next."""

    def __init__(self) -> None:
        super().__init__([])
        self._released: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self.held: set[str] = set()
        """The names of the questions that wait or have waited."""

    def release(self, name: str) -> None:
        """Answer the question with a name."""
        self._event(name).set()

    def _turn(self, request: RecordedRequest) -> StubResponse:
        body = json.loads(request.body)
        message = self._respond_to(body["messages"][-1])
        with self._lock:
            self.bodies.append(body)
            stream = self._stream(message)
        return StubResponse(stream, headers={"Content-Type": "text/event-stream"})

    def _respond_to(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["role"] == "tool":
            return text(f"result: {message['content']}")
        prompt = json.loads(message["content"])
        if "tool" in prompt:
            return calls((prompt["tool"], prompt["args"]))
        if name := prompt.get("hold"):
            self.held.add(name)
            if not self._event(name).wait(HANG_S):
                raise AssertionError(f"{name} was never released")
        return text(f"said: {name or prompt['say']}")

    def _event(self, name: str) -> threading.Event:
        with self._lock:
            return self._released.setdefault(name, threading.Event())
