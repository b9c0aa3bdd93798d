"""The tools of the everything server: what the conformance suite calls."""

import asyncio
import json
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.message import ServerMessageMetadata

Context = ServerRequestContext[Any, Any]
Args = dict[str, Any]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAD//w=="
PAUSE_S = 0.05
"""The pause between notifications that the suite prescribes."""
NO_ARGS: Args = {"type": "object", "properties": {}}
Tools = dict[str, tuple[Callable[[Context, Args], Awaitable[Args]], str, Args]]
"""The function, description and input schema of each tool."""


def text(value: str) -> Args:
    """Return a result with one text block."""
    return {"content": [{"type": "text", "text": value}]}


async def simple_text(context: Context, args: Args) -> Args:
    return text("This is a simple text response for testing.")


async def image_content(context: Context, args: Args) -> Args:
    return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}


async def audio_content(context: Context, args: Args) -> Args:
    return {"content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]}


async def embedded_resource(context: Context, args: Args) -> Args:
    body = "This is an embedded resource content."
    resource = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": body}
    return {"content": [{"type": "resource", "resource": resource}]}


async def multiple_content_types(context: Context, args: Args) -> Args:
    body = json.dumps({"test": "data", "value": 123})
    resource = {"uri": "test://mixed-content-resource", "mimeType": "application/json", "text": body}
    return {
        "content": [
            {"type": "text", "text": "Multiple content types test:"},
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            {"type": "resource", "resource": resource},
        ]
    }


async def with_logging(context: Context, args: Args) -> Args:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await context.session.send_log_message("info", message, "everything", context.request_id)
        await asyncio.sleep(PAUSE_S)
    return text("Logged three messages.")


async def with_progress(context: Context, args: Args) -> Args:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100, f"{done} of 100")
        await asyncio.sleep(PAUSE_S)
    return text("Reported progress three times.")


async def error_handling(context: Context, args: Args) -> Args:
    return text("This tool intentionally returns an error for testing") | {"isError": True}


async def sampling(context: Context, args: Args) -> Args:
    if not context.session.check_client_capability(
        types.ClientCapabilities(sampling=types.SamplingCapability())
    ):
        return text("The client does not support sampling.") | {"isError": True}
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=args["prompt"]))
    params = types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    request = types.CreateMessageRequest(params=params)
    result = await context.session.send_request(
        request,
        types.CreateMessageResult,
        metadata=ServerMessageMetadata(related_request_id=context.request_id),
    )
    return text(f"LLM response: {getattr(result.content, 'text', '')}")


async def elicitation(context: Context, args: Args) -> Args:
    string = {"type": "string"}
    properties = {
        "username": string | {"description": "User's response"},
        "email": string | {"description": "User's email address"},
    }
    return await _elicit(context, args["message"], properties, list(properties))


async def elicitation_defaults(context: Context, args: Args) -> Args:
    properties = {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": True},
    }
    return await _elicit(context, "Please review the defaults.", properties)


async def elicitation_enums(context: Context, args: Args) -> Args:
    options = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{number}", "title": title}
        for number, title in enumerate(("First Option", "Second Option", "Third Option"), 1)
    ]
    names = ["Option One", "Option Two", "Option Three"]
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await _elicit(context, "Please choose.", properties)


async def reconnection(context: Context, args: Args) -> Args:
    """Close the response stream before the result, which a client reads after it has reconnected."""
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await asyncio.sleep(PAUSE_S)
    return text("Reconnection test completed.")


async def json_schema(context: Context, args: Args) -> Args:
    return text(json.dumps(args))


async def _elicit(
    context: Context, message: str, properties: Args, required: list[str] | None = None
) -> Args:
    schema = {"type": "object", "properties": properties, "required": required or []}
    answer = await context.session.elicit_form(message, schema, context.request_id)
    return text(f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}")


JSON_SCHEMA_2020_12: Args = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _one_string(name: str) -> Args:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


HEADER_PARAM: Args = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}

TOOLS: Tools = {
    "test_simple_text": (simple_text, "Return text", NO_ARGS),
    "test_image_content": (image_content, "Return an image", NO_ARGS),
    "test_audio_content": (audio_content, "Return audio", NO_ARGS),
    "test_embedded_resource": (embedded_resource, "Return an embedded resource", NO_ARGS),
    "test_multiple_content_types": (multiple_content_types, "Return text, image and resource", NO_ARGS),
    "test_tool_with_logging": (with_logging, "Send log messages", NO_ARGS),
    "test_tool_with_progress": (with_progress, "Report progress", NO_ARGS),
    "test_error_handling": (error_handling, "Return an error", NO_ARGS),
    "test_sampling": (sampling, "Ask the client's model", _one_string("prompt")),
    "test_elicitation": (elicitation, "Ask the user", _one_string("message")),
    "test_elicitation_sep1034_defaults": (elicitation_defaults, "Ask with defaults", NO_ARGS),
    "test_elicitation_sep1330_enums": (elicitation_enums, "Ask with choices", NO_ARGS),
    "test_reconnection": (reconnection, "Close the response stream early", NO_ARGS),
    "json_schema_2020_12_tool": (json_schema, "Tool with JSON Schema 2020-12 features", JSON_SCHEMA_2020_12),
    "test_logging_tool": (with_logging, "Send log messages", NO_ARGS),
    "test_header_param": (json_schema, "Take an argument that is also a header", HEADER_PARAM),
}
