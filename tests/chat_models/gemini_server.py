"""Google's Gemini API as it is on the wire."""

import json
import re
from typing import Any

from google.genai import types

from chat_models.loopback import KEY, MODEL, ProviderServer, Request, Said, need, only, sse

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
REASONS = {"end": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"}
STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
SCHEMA = (
    "type format title description nullable enum items minItems maxItems properties required minProperties "
    "maxProperties minimum maximum minLength maxLength pattern example anyOf propertyOrdering default"
)
PARTS = {"text", "functionCall", "functionResponse"}


class GeminiServer(ProviderServer):
    path = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    half = 1

    def is_key(self, request: Request) -> bool:
        return request.headers.get("x-goog-api-key") == KEY and KEY not in request.target

    def check(self, request: Request) -> None:
        body = only(request.body, required="contents", optional="tools systemInstruction generationConfig")
        need(body.get("generationConfig", {}) == {}, "generationConfig: nothing was asked for")
        if "systemInstruction" in body:
            types.Content.model_validate(only(body["systemInstruction"], required="parts", optional="role"))
        need(len(body.get("tools", [])) <= 1, "tools: give one tool with all functions")
        for tool in body.get("tools", []):
            types.Tool.model_validate(tool)
            for one in only(tool, required="functionDeclarations")["functionDeclarations"]:
                only(one, required="name description", optional="parameters")
                need(NAME.fullmatch(one["name"]), f"Invalid function name {one['name']}")
                if "parameters" in one:
                    need(one["parameters"].get("properties"), "should be non-empty for OBJECT type")
                    self._check_schema(one["parameters"])
        self._check_contents(body["contents"])

    def _check_schema(self, schema: dict[str, Any]) -> None:
        only(schema, optional=SCHEMA)
        need("type" in schema or "anyOf" in schema, "schema needs a type")
        for inner in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]:
            self._check_schema(inner)

    def _check_contents(self, contents: list[dict[str, Any]]) -> None:
        need(contents and contents[0]["role"] == "user", "contents must start with a user turn")
        waiting: list[tuple[str, str]] = []
        before = ""
        for content in contents:
            types.Content.model_validate(only(content, required="role parts"))
            need(content["role"] in ("user", "model"), "Please use a valid role: user, model.")
            need(content["role"] != before, "roles must alternate")
            before = content["role"]
            need(content["parts"], "contents.parts must not be empty")
            answered = [self._check_part(part, before) for part in content["parts"]]
            if before == "user":
                need(
                    [one for one in answered if one] == waiting,
                    "Please ensure that the number of function response parts is equal to the number of "
                    "function call parts of the function call turn.",
                )
                waiting = []
            else:
                waiting = [one for one in answered if one]
        need(not waiting, "function call without a response")

    def _check_part(self, part: dict[str, Any], role: str) -> tuple[str, str] | None:
        kind = next(iter(PARTS & set(part)), "")
        only(part, required=kind or "text", optional="thoughtSignature" if role == "model" else "")
        if kind == "text":
            need(part["text"], "Unable to submit request because it must have a text parameter")
            return None
        need((kind == "functionCall") == (role == "model"), f"{kind} is not for {role}")
        inner = only(
            part[kind], required="id name", optional="args" if kind == "functionCall" else "response"
        )
        if kind == "functionResponse":
            need(set(inner["response"]) <= {"output", "error"}, "response: output or error")
        return inner["id"], inner["name"]

    def frames(self, said: Said) -> list[bytes]:
        parts: list[dict[str, Any]] = [{"text": text} for text in said.text]
        for call in said.calls:
            arguments = "".join(call.pieces) or "{}"
            whole = json.loads(arguments) if said.stop != "length" else None
            asked = {"name": call.name, "args": whole} | ({"id": call.id} if call.id else {})
            if whole is not None:
                parts.append({"functionCall": asked})
        usage = {}
        if said.usage:
            given, made = said.usage
            usage = {"promptTokenCount": given, "candidatesTokenCount": made, "totalTokenCount": given + made}
        frames = [piece([part], "", usage) for part in parts]
        return [*frames, piece([{"text": ""}], REASONS[said.stop], usage)]

    def error(self, status: int, said: str) -> Any:
        body = {"code": status, "message": said, "status": STATUSES.get(status, "UNKNOWN")}
        return {"error": body}

    def frame(self, content: bytes) -> bytes:
        return b"data: %s\r\n\r\n" % content


def piece(parts: list[dict[str, Any]], reason: str = "", usage: Any = None) -> bytes:
    """One event of a stream."""
    candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
    whole = {"candidates": [candidate | ({"finishReason": reason} if reason else {})], "modelVersion": MODEL}
    return sse(whole | ({"usageMetadata": usage} if usage else {}) | {"responseId": "r1"})
