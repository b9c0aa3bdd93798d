"""A minimal MCP server: `mcp_server.py` over stdio, `mcp_server.py PORT` over HTTP."""

import sys
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import Server

SCHEMA = {"type": "object", "properties": {"message": {"type": "string"}}}


async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
    """List the only tool."""
    return types.ListToolsResult(tools=[types.Tool(name="echo", description="Echo.", input_schema=SCHEMA)])


async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Return the message."""
    text = str((params.arguments or {})["message"])
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client."""
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read_stream, write_stream):
        await server.run(read_stream, write_stream, server.create_initialization_options())


async def serve_http(server: Server[Any], port: int) -> None:
    """Serve any number of clients."""
    import uvicorn
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

    manager = StreamableHTTPSessionManager(server)
    async with manager.run():
        app = StreamableHTTPASGIApp(manager)
        await uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="off")).serve()


bare: Server[Any] = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
if len(sys.argv) > 1:
    anyio.run(serve_http, bare, int(sys.argv[1]))
else:
    anyio.run(serve_stdio, bare)
