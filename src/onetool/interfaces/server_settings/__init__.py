"""Edits of MCP servers in the user's settings, for the CLI and REST."""
