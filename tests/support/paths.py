"""Directories that tests read."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
PROJECT = TESTS.parent
MCP_SERVERS = TESTS / "support" / "mcp_servers"
"""MCP servers that tests start as processes."""
