"""A fake server of the Gemini API."""

import json
import re
import warnings
from functools import cache
from typing import Any

from chat_models.provider_server import (
    KEY,
    MODEL,
    ProviderServer,
    Request,
    TextTurn,
    check_keys,
    require,
    sse,
)

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
PARTS = {"text", "inlineData", "inline_data", "functionCall", "functionResponse"}


@cache
def sdk_types() -> Any:
    """Return the models of the SDK, which takes a second to import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its source has an invalid escape, which warns when compiled
        from google.genai import types
    return types


class GeminiServer(ProviderServer):
    path = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    partial_frames = 1

    def is_authorized(self, request: Request) -> bool:
        return request.headers.get("x-goog-api-key") == KEY and KEY not in request.target

    def check(self, request: Request) -> None:
        body = check_keys(
            request.body, required="contents", optional="tools systemInstruction generationConfig"
        )
        require(body.get("generationConfig", {}) == {}, "generationConfig: must be empty")
        if "systemInstruction" in body:
            sdk_types().Content.model_validate(
                check_keys(body["systemInstruction"], required="parts", optional="role")
            )
        require(len(body.get("tools", [])) <= 1, "tools: give one tool with all functions")
        for tool in body.get("tools", []):
            sdk_types().Tool.model_validate(tool)
            for declaration in check_keys(tool, required="functionDeclarations")["functionDeclarations"]:
                check_keys(declaration, required="name description", optional="parameters")
                require(NAME.fullmatch(declaration["name"]), f"Invalid function name {declaration['name']}")
                if "parameters" in declaration:
                    require(
                        declaration["parameters"].get("properties"), "should be non-empty for OBJECT type"
                    )
                    self._check_schema(declaration["parameters"])
        self._check_contents(body["contents"])

    def _check_schema(self, schema: dict[str, Any]) -> None:
        check_keys(schema, optional=SCHEMA)
        require("type" in schema or "anyOf" in schema, "schema needs a type")
        for inner in [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]:
            self._check_schema(inner)

    def _check_contents(self, contents: list[dict[str, Any]]) -> None:
        require(contents and contents[0]["role"] == "user", "contents must start with a user turn")
        pending: list[tuple[str, str]] = []
        before = ""
        for content in contents:
            sdk_types().Content.model_validate(check_keys(content, required="role parts"))
            require(content["role"] in ("user", "model"), "Please use a valid role: user, model.")
            require(content["role"] != before, "roles must alternate")
            before = content["role"]
            require(content["parts"], "contents.parts must not be empty")
            parts = [self._check_part(part, before) for part in content["parts"]]
            if before == "user":
                require(
                    [part for part in parts if part] == pending,
                    "Please ensure that the number of function response parts is equal to the number of "
                    "function call parts of the function call turn.",
                )
                pending = []
            else:
                pending = [part for part in parts if part]
        require(not pending, "function call without a response")

    def _check_part(self, part: dict[str, Any], role: str) -> tuple[str, str] | None:
        kind = next(iter(PARTS & set(part)), "")
        check_keys(part, required=kind or "text", optional="thoughtSignature" if role == "model" else "")
        if kind == "text":
            require(part["text"], "Unable to submit request because it must have a text parameter")
            return None
        if kind in ("inlineData", "inline_data"):  # the API accepts both forms
            check_keys(part[kind], required="data", optional="mimeType mime_type")
            return None
        require((kind == "functionCall") == (role == "model"), f"{kind} is not for {role}")
        inner = check_keys(
            part[kind], required="id name", optional="args" if kind == "functionCall" else "response parts"
        )
        if kind == "functionResponse":
            require(set(inner["response"]) <= {"output", "error"}, "response: output or error")
        return inner["id"], inner["name"]

    def frames(self, turn: TextTurn) -> list[bytes]:
        parts: list[dict[str, Any]] = [{"text": text} for text in turn.text]
        for call in turn.calls:
            arguments = json.loads("".join(call.fragments) or "{}") if turn.stop != "length" else None
            function_call = {"name": call.name, "args": arguments} | ({"id": call.id} if call.id else {})
            if arguments is not None:
                parts.append({"functionCall": function_call})
        usage = {}
        if turn.usage:
            prompt, output = turn.usage
            usage = {
                "promptTokenCount": prompt,
                "candidatesTokenCount": output,
                "totalTokenCount": prompt + output,
            }
        frames = [chunk([part], "", usage) for part in parts]
        return [*frames, chunk([{"text": ""}], REASONS[turn.stop], usage)]

    def error(self, status: int, message: str) -> Any:
        body = {"code": status, "message": message, "status": STATUSES.get(status, "UNKNOWN")}
        return {"error": body}

    def frame(self, content: bytes) -> bytes:
        return b"data: %s\r\n\r\n" % content


def chunk(parts: list[dict[str, Any]], reason: str = "", usage: Any = None) -> bytes:
    """Return one event of a stream."""
    candidate = {"content": {"parts": parts, "role": "model"}, "index": 0}
    response = {
        "candidates": [candidate | ({"finishReason": reason} if reason else {})],
        "modelVersion": MODEL,
    }
    return sse(response | ({"usageMetadata": usage} if usage else {}) | {"responseId": "r1"})
