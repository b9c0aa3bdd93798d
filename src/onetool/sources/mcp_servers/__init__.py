"""Tools of other MCP servers."""

from .server import McpServer, State

__all__ = ["McpServer", "State"]
