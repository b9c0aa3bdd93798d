"""An MCP server with exact schemas, written with the official SDK: `github.py stdio` or `github.py http`.

Over HTTP it listens on a free port and prints its URL first.
"""

import json
import socket
import sys

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
QUERY, REPO = {**TEXT, "description": "Search text"}, {**TEXT, "description": "Repository"}
DEFAULTS = {
    "n": {**WHOLE, "default": 5},
    "zero": {**WHOLE, "default": 0},
    "off": {"type": "boolean", "default": False},
    "empty": {**TEXT, "default": ""},
    "branch": {**TEXT, "default": "main"},
    "nothing": {**TEXT, "default": None},
    "bare": WHOLE,
    "must": {**WHOLE, "default": 7},
}
SCHEMAS = {
    "search": ({"query": QUERY, "repo": REPO}, ["query"]),
    "ordered": ({"zeta": TEXT, "alpha": TEXT, "query": TEXT}, ["query"]),
    "defaults": (DEFAULTS, ["must"]),
    "mixed": ({"repo": REPO, "plain": TEXT, "query": QUERY}, ["query"]),
    "nothing": ({}, []),
}


async def list_tools(context, params):
    return types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                description=f"Does {name}.",
                input_schema={"type": "object", "properties": properties, "required": required},
                annotations=types.ToolAnnotations(read_only_hint=True),
            )
            for name, (properties, required) in SCHEMAS.items()
        ]
    )


async def call_tool(context, params):
    text = json.dumps({"tool": params.name, "args": params.arguments})
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


server = Server("github", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio():
    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


def serve_http():
    import uvicorn  # imported late: the stdio server starts faster without it

    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    anyio.run(serve_stdio) if sys.argv[1] == "stdio" else serve_http()
