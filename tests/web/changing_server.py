"""An MCP server with a tool that is described as a file says: `python changing_server.py FILE`."""

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
    """End this server; it is started again when it is needed."""
    os._exit(0)


if __name__ == "__main__":
    server.run("stdio")
