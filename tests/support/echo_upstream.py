"""An HTTP API, a token issuer, an MCP server and a chat model that send back everything they receive."""

import base64
import json
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from onetool.testing.http_stub import HttpStub, RecordedRequest, StubResponse

EVENTS = {"Content-Type": "text/event-stream"}
PIECE_LENGTH = 5


def pieces(text: str) -> list[str]:
    """Split a text into the pieces of a stream."""
    return [text[start : start + PIECE_LENGTH] for start in range(0, len(text), PIECE_LENGTH)]


def encodings(text: str) -> dict[str, str]:
    """Return a text in plain, JSON, URL and base64 form."""
    encoded = base64.b64encode(text.encode()).decode()
    return {"plain": text, "json": json.dumps(text), "url": quote(text, ""), "base64": encoded}


class EchoUpstream(HttpStub):
    """Echoes requests to `/echo`, `/mcp` and `/v1`; `/token` issues the given tokens."""

    def __init__(self, tokens: dict[str, str]) -> None:
        self.seen = ""
        """Everything that was received."""
        self._tokens = tokens
        super().__init__(
            {
                "/echo": self._echo,
                "/token": self._issue,
                "/mcp": self.serve_mcp,
                "/v1/chat/completions": self._chat,
            }
        )

    def _receive(self, request: RecordedRequest) -> str:
        headers = [f"{name}: {value}" for name, value in request.headers.items()]
        text = "\n".join([request.path, unquote(request.path), *headers, request.body.decode()])
        self.seen += text
        return text

    def _echo(self, request: RecordedRequest) -> StubResponse:
        status = parse_qs(urlsplit(request.path).query)["status"][0]
        return StubResponse(encodings(self._receive(request)), int(status))

    def _issue(self, request: RecordedRequest) -> StubResponse:
        self._receive(request)
        return StubResponse(self._tokens | {"expires_in": 3600})

    def _chat(self, request: RecordedRequest) -> StubResponse:
        text = self._receive(request).partition("\n{")[0]  # without the body
        event = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
        deltas = [{"delta": {"role": "assistant", "content": piece}} for piece in pieces(text)]
        deltas.append({"delta": {}, "finish_reason": "stop"})
        lines = [{**event, "choices": [{"index": 0, "finish_reason": None} | delta]} for delta in deltas]
        return StubResponse("".join(map(_event, lines)) + "data: [DONE]\n\n", headers=EVENTS)

    def serve_mcp(self, request: RecordedRequest) -> StubResponse:
        """Serve a tool `echo` that reports what it received as progress, in pieces, and as its result."""
        text = self._receive(request)
        if request.method != "POST":
            return StubResponse("", 405)
        message = json.loads(request.body)
        if "id" not in message:
            return StubResponse("", 202)
        if message["method"] == "initialize":
            version = message["params"]["protocolVersion"]
            result: Any = {"protocolVersion": version, "serverInfo": {"name": "echo", "version": "1"}}
            return _result(message, result | {"capabilities": {}})
        if message["method"] == "tools/list":
            lines = text.partition("\n{")[0].splitlines()
            # It grows with the number of the request, and a changed description needs approval.
            headers = "\n".join(line for line in lines if not line.startswith("Content-Length"))
            tool = {"name": "echo", "description": f"Echo. {headers}", "inputSchema": {"type": "object"}}
            return _result(message, {"tools": [tool]})
        params = message["params"]
        is_error = params["arguments"]["status"] != "200"
        content = [{"type": "text", "text": json.dumps(encodings(text))}]
        progress = {"progressToken": params["_meta"]["progressToken"], "total": 1}
        notifications = [
            {
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": progress | {"progress": 1, "message": piece},
            }
            for piece in pieces(text)
        ]
        result = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": content, "isError": is_error}}
        return StubResponse("".join(map(_event, [*notifications, result])), headers=EVENTS)


def _event(data: dict[str, Any]) -> str:
    return f"data: {json.dumps(data)}\n\n"


def _result(message: dict[str, Any], result: dict[str, Any]) -> StubResponse:
    return StubResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})
