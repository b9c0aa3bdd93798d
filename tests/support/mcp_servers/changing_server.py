"""An MCP server with a tool whose description is read from a file: `python changing_server.py FILE`."""

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("changing")


@server.tool(description=Path(sys.argv[1]).read_text(encoding="utf-8"))
def greet(name: str) -> str:
    return f"Hello {name}"


@server.tool()
def leave() -> None:
    """End this server process; the client starts a new one when needed."""
    os._exit(0)


if __name__ == "__main__":
    server.run("stdio")
