"""An MCP server written with the official SDK: `official.py stdio` or `official.py http PORT KIND`."""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("official")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def report(text: str) -> str:
    """Return the text unchanged."""
    return text


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run(
            "streamable-http",
            host="127.0.0.1",
            port=int(sys.argv[2]),
            stateless_http=sys.argv[3:] == ["stateless"],
        )
