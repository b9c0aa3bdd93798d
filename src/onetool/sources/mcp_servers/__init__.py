"""Tools of other MCP servers."""

from .source import McpServerSource

__all__ = ["McpServerSource"]
