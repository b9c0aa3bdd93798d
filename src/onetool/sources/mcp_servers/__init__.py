"""Tools of other MCP servers."""

from .source import AttachServer, McpServerSource

__all__ = ["AttachServer", "McpServerSource"]
