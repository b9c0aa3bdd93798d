"""An MCP server that answers everything the conformance suite asks: over stdio, or with `--http` over HTTP.

With `--http` it listens on a free port of the loopback interface and prints its URL. With `--modern` it has
no `initialize` over stdio, as servers of protocol 2026-07-28 alone.
"""

import asyncio
import json
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import uvicorn
from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.message import SessionMessage
from mcp_types.methods import CACHEABLE_METHODS

sys.path.insert(0, str(Path(__file__).parent))
import everything_rounds
import everything_tasks
import everything_tools
from everything_tools import NO_ARGS, PIXEL, Args, Context, Tools, text

TEMPLATE_START, TEMPLATE_END = "test://template/", "/data"
STATIC_TEXT = "This is the content of the static text resource."
RESOURCES: dict[str, Args] = {
    "test://static-text": {"mimeType": "text/plain", "text": STATIC_TEXT},
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
}
PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    everything_rounds.PROMPT: [],
}
"""The arguments of each prompt."""
BUS = InMemorySubscriptionBus()


def _changing(
    listed: dict[str, Any], item: Any, event: ServerEvent
) -> Callable[[Context, Args], Awaitable[Args]]:
    """Return a tool that adds an item to a list, or removes it, and reports the change."""

    async def change(context: Context, args: Args) -> Args:
        if listed.pop(CHANGING, None) is None:
            listed[CHANGING] = item
        await BUS.publish(event)
        return text("Changed the list.")

    return change


TOOLS: Tools = everything_tools.TOOLS | everything_rounds.TOOLS | everything_tasks.TOOLS
CHANGING = "test_changing"
"""The name of the tool and of the prompt that are there or not."""
_added = (everything_tools.simple_text, "Return text", NO_ARGS)
TOOLS |= {
    "test_trigger_tool_change": (_changing(TOOLS, _added, ToolsListChanged()), "Change the tools", NO_ARGS),
    "test_trigger_prompt_change": (
        _changing(PROMPTS, [], PromptsListChanged()),
        "Change the prompts",
        NO_ARGS,
    ),
}


async def list_tools(context: Context, params: Any) -> Any:
    return {
        "tools": [
            {"name": name, "description": description, "inputSchema": schema}
            for name, (_, description, schema) in TOOLS.items()
        ]
    }


async def call_tool(context: Context, params: types.CallToolRequestParams) -> Any:
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool {params.name!r}.")
    return await TOOLS[params.name][0](context, params.arguments or {})


async def list_resources(context: Context, params: Any) -> Any:
    names = {uri: uri.partition("://")[2] for uri in RESOURCES}
    return {
        "resources": [
            {"uri": uri, "name": names[uri], "description": names[uri], "mimeType": content["mimeType"]}
            for uri, content in RESOURCES.items()
        ]
    }


async def list_templates(context: Context, params: Any) -> Any:
    uri = f"{TEMPLATE_START}{{id}}{TEMPLATE_END}"
    template = {"uriTemplate": uri, "name": "template", "description": "Data by id"}
    return {"resourceTemplates": [template | {"mimeType": "application/json"}]}


async def read_resource(context: Context, params: types.ReadResourceRequestParams) -> Any:
    uri = str(params.uri)
    if uri in RESOURCES:
        return {"contents": [{"uri": uri} | RESOURCES[uri]]}
    number = uri.removeprefix(TEMPLATE_START).removesuffix(TEMPLATE_END)
    if uri != f"{TEMPLATE_START}{number}{TEMPLATE_END}":
        raise MCPError(types.INVALID_PARAMS, f"Unknown resource {uri!r}.", {"uri": uri})
    data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
    return {"contents": [{"uri": uri, "mimeType": "application/json", "text": json.dumps(data)}]}


async def accept(context: Context, params: Any) -> Any:
    return {}


async def list_prompts(context: Context, params: Any) -> Any:
    return {
        "prompts": [
            {
                "name": name,
                "description": name.replace("_", " "),
                "arguments": [{"name": arg, "description": arg, "required": True} for arg in arguments],
            }
            for name, arguments in PROMPTS.items()
        ]
    }


async def get_prompt(context: Context, params: types.GetPromptRequestParams) -> Any:
    args = params.arguments or {}
    match params.name:
        case everything_rounds.PROMPT:
            return await everything_rounds.get_prompt(context)
        case "test_simple_prompt" | "test_changing":
            contents = [_text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            contents = [_text(f"Prompt with arguments: arg1='{args['arg1']}', arg2='{args['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            body = "Embedded resource content for testing."
            resource = {"uri": args["resourceUri"], "mimeType": "text/plain", "text": body}
            request = _text("Please process the embedded resource above.")
            contents = [{"type": "resource", "resource": resource}, request]
        case "test_prompt_with_image":
            image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
            contents = [image, _text("Please analyze the image above.")]
        case _:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt {params.name!r}.")
    return {"messages": [{"role": "user", "content": content} for content in contents]}


async def complete(context: Context, params: types.CompleteRequestParams) -> Any:
    words = ("paris", "park", "party")
    values = [word for word in words if word.startswith(params.argument.value)]
    return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def _complete(handler: Callable[[Context, Any], Awaitable[Any]]) -> Callable[[Context, Any], Awaitable[Any]]:
    """Return a handler whose results say that they are complete, unless they say otherwise."""

    async def handle(context: Context, params: Any) -> Any:
        return {"resultType": "complete"} | await handler(context, params)

    return handle


def create_server() -> Server[Any]:
    """Create the server with every handler."""
    server: Server[Any] = Server(
        "everything",
        version="1.0.0",
        instructions="Call the tools of the conformance suite.",
        cache_hints={method: CacheHint() for method in CACHEABLE_METHODS},
        on_list_tools=_complete(list_tools),
        on_call_tool=_complete(call_tool),
        on_list_resources=_complete(list_resources),
        on_list_resource_templates=_complete(list_templates),
        on_read_resource=_complete(read_resource),
        on_subscribe_resource=accept,
        on_unsubscribe_resource=accept,
        on_subscriptions_listen=ListenHandler(BUS),
        on_list_prompts=_complete(list_prompts),
        on_get_prompt=_complete(get_prompt),
        on_completion=_complete(complete),
    )
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, accept)
    server.middleware.append(
        RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="everything")
    )
    everything_tasks.add_tasks(server)
    return server


class MemoryEvents(EventStore):
    """Events of all streams in memory, for clients that reconnect."""

    def __init__(self) -> None:
        self._events: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        stream = self._events[int(last_event_id) - 1][0]
        for number, (stream_id, message) in enumerate(self._events, 1):
            if number > int(last_event_id) and stream_id == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


async def serve_http() -> None:
    """Serve on a free port and print the URL when the socket listens."""
    app = create_server().streamable_http_app(event_store=MemoryEvents(), retry_interval=100)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        await uvicorn.Server(uvicorn.Config(app, http="h11", log_level="error")).serve([listener])


async def serve_stdio() -> None:
    """Serve one client over stdin and stdout."""
    server = create_server()
    async with stdio_server() as (reader, writer):
        if "--modern" in sys.argv:
            await _refuse_initialize(reader, writer)
        await server.run(reader, writer, server.create_initialization_options())


async def _refuse_initialize(reader: Any, writer: Any) -> None:
    """Answer the first request as an unknown one, before the server learns the protocol of the client."""
    request = (await reader.receive()).message
    error = types.ErrorData(code=types.METHOD_NOT_FOUND, message="Method not found")
    await writer.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=request.id, error=error)))


def _text(value: str) -> Args:
    return {"type": "text", "text": value}


if __name__ == "__main__":
    asyncio.run(serve_http() if "--http" in sys.argv else serve_stdio())
