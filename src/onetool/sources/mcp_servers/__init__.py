"""Tools of other MCP servers."""

from .server import McpServer

__all__ = ["McpServer"]
