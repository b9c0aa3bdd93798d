"""Ollama's own chat as it is on the wire: one JSON object a line."""

import json
from typing import Any

from chat_models.loopback import KEY, MODEL, ProviderServer, Request, Said, need, only

MESSAGES = {
    "system": "role content",
    "user": "role content",
    "assistant": "role content",
    "tool": "role content tool_name tool_call_id",
}


class OllamaServer(ProviderServer):
    path = "/api/chat"
    content_type = "application/x-ndjson"
    half = 1

    def is_key(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {KEY}"

    def check(self, request: Request) -> None:
        body = only(request.body, required="model messages stream", optional="tools")
        need(body["model"] == MODEL, f"model '{body['model']}' not found")
        need(body["stream"] is True, "stream is true here")
        for tool in body.get("tools", []):
            function = only(tool, required="type function")["function"]
            only(function, required="name description parameters")
            need(function["parameters"]["type"] == "object", "json: cannot unmarshal parameters")
            need(isinstance(function["parameters"]["properties"], dict), "json: cannot unmarshal properties")
        waiting: list[tuple[str, str]] = []
        for message in body["messages"]:
            need(message.get("role") in MESSAGES, "invalid role")
            calls = "tool_calls" if message["role"] == "assistant" else ""
            only(message, required=MESSAGES[message["role"]], optional=calls)
            need(isinstance(message["content"], str), "json: cannot unmarshal content")
            if message["role"] == "tool":
                need(
                    waiting.pop(0) == (message["tool_call_id"], message["tool_name"]), "another call's result"
                )
            for call in message.get("tool_calls", []):
                function = only(call, required="id function")["function"]
                only(function, required="name arguments")
                need(isinstance(function["arguments"], dict), "json: cannot unmarshal string into arguments")
                waiting.append((call["id"], function["name"]))
        need(not waiting, "results are missing")

    def frames(self, said: Said) -> list[bytes]:
        frames = [line(message={"role": "assistant", "content": text}) for text in said.text]
        for index, call in enumerate(said.calls):
            if said.stop == "length":
                continue
            arguments = json.loads("".join(call.pieces) or "{}")
            function = {"index": index, "name": call.name, "arguments": arguments}
            asked = [{"function": function} | ({"id": call.id} if call.id else {})]
            frames.append(line(message={"role": "assistant", "content": "", "tool_calls": asked}))
        given, made = said.usage or (None, None)
        counts = {"prompt_eval_count": given, "eval_count": made} if said.usage else {}
        end = {"done_reason": "length" if said.stop == "length" else "stop", "total_duration": 5}
        return [*frames, line(message={"role": "assistant", "content": ""}, done=True, **end, **counts)]

    def error(self, status: int, said: str) -> Any:
        return {"error": said}

    def frame(self, content: bytes) -> bytes:
        return content + b"\n"


def line(**members: Any) -> bytes:
    """One piece of an answer."""
    head = {"model": MODEL, "created_at": "2026-11-14T12:00:00.123456Z"}
    return json.dumps(head | {"done": False} | members, ensure_ascii=False).encode() + b"\n"
