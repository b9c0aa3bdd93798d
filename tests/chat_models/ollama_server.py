"""A fake server of the native Ollama chat API, with one JSON object per line."""

import json
from typing import Any

from chat_models.provider_server import (
    KEY,
    MODEL,
    ProviderServer,
    Request,
    TextTurn,
    check_keys,
    require,
)

MESSAGES = {
    "system": "role content",
    "user": "role content",
    "assistant": "role content",
    "tool": "role content tool_name tool_call_id",
}


class OllamaServer(ProviderServer):
    path = "/api/chat"
    content_type = "application/x-ndjson"
    partial_frames = 1

    def is_authorized(self, request: Request) -> bool:
        return request.headers.get("authorization") == f"Bearer {KEY}"

    def check(self, request: Request) -> None:
        body = check_keys(request.body, required="model messages stream", optional="tools")
        require(body["model"] == MODEL, f"model '{body['model']}' not found")
        require(body["stream"] is True, "stream is true here")
        for tool in body.get("tools", []):
            function = check_keys(tool, required="type function")["function"]
            check_keys(function, required="name description parameters")
            require(function["parameters"]["type"] == "object", "json: cannot unmarshal parameters")
            require(
                isinstance(function["parameters"]["properties"], dict), "json: cannot unmarshal properties"
            )
        pending: list[tuple[str, str]] = []
        for message in body["messages"]:
            require(message.get("role") in MESSAGES, "invalid role")
            optional = {"assistant": "tool_calls", "user": "images"}.get(message["role"], "")
            check_keys(message, required=MESSAGES[message["role"]], optional=optional)
            require(isinstance(message["content"], str), "json: cannot unmarshal content")
            if message["role"] == "tool":
                require(
                    pending.pop(0) == (message["tool_call_id"], message["tool_name"]), "another call's result"
                )
            for call in message.get("tool_calls", []):
                function = check_keys(call, required="id function")["function"]
                check_keys(function, required="name arguments")
                require(
                    isinstance(function["arguments"], dict), "json: cannot unmarshal string into arguments"
                )
                pending.append((call["id"], function["name"]))
        require(not pending, "results are missing")

    def frames(self, turn: TextTurn) -> list[bytes]:
        frames = [line(message={"role": "assistant", "content": text}) for text in turn.text]
        for index, call in enumerate(turn.calls):
            if turn.stop == "length":
                continue
            arguments = json.loads("".join(call.fragments) or "{}")
            function = {"index": index, "name": call.name, "arguments": arguments}
            tool_calls = [{"function": function} | ({"id": call.id} if call.id else {})]
            frames.append(line(message={"role": "assistant", "content": "", "tool_calls": tool_calls}))
        input_tokens, output_tokens = turn.usage or (None, None)
        counts = {"prompt_eval_count": input_tokens, "eval_count": output_tokens} if turn.usage else {}
        end = {"done_reason": "length" if turn.stop == "length" else "stop", "total_duration": 5}
        return [*frames, line(message={"role": "assistant", "content": ""}, done=True, **end, **counts)]

    def error(self, status: int, message: str) -> Any:
        return {"error": message}

    def frame(self, content: bytes) -> bytes:
        return content + b"\n"


def line(**members: Any) -> bytes:
    """Return one chunk of a response."""
    fields = {"model": MODEL, "created_at": "2026-11-14T12:00:00.123456Z"}
    return json.dumps(fields | {"done": False} | members, ensure_ascii=False).encode() + b"\n"
