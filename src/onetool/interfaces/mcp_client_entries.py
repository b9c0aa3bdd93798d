"""The forms in which MCP clients store a server, and their conversion to the usual form."""

from pathlib import PureWindowsPath
from typing import Any

Entry = dict[str, Any]
"""An entry in a client's map of servers."""


def plain_entry(command: str, args: list[str]) -> Entry:
    """Return the form of most clients."""
    return {"command": command, "args": args}


def typed_entry(command: str, args: list[str]) -> Entry:
    """Return the form of VS Code, which requires a type."""
    return {"type": "stdio", "command": command, "args": args}


def opencode_entry(command: str, args: list[str]) -> Entry:
    """Return the form of opencode, with the arguments in the command."""
    return {"type": "local", "command": [command, *args], "enabled": True}


def same_server(entry: Any) -> Any:
    """Return an entry that already has the usual form."""
    return entry


def starts_onetool(server: Any) -> bool:
    """Whether a server in the usual form is `onetool mcp`, with any options."""
    if not isinstance(server, dict) or not isinstance(server.get("args"), list):
        return False
    program = PureWindowsPath(str(server.get("command"))).stem  # splits at slashes and backslashes
    return program == "onetool" and server["args"][:1] == ["mcp"]


def zed_server(entry: Any) -> Any:
    """Convert an entry of Zed: `source` tells custom servers from those of extensions."""
    if isinstance(entry, dict) and entry.get("source") == "custom":
        return {key: value for key, value in entry.items() if key != "source"}
    return entry


def gemini_server(entry: Any) -> Any:
    """Convert an entry of Gemini CLI: it has other names for tool filters, and `url` means SSE."""
    if not isinstance(entry, dict):
        return entry
    names = {"includeTools": "enabledTools", "excludeTools": "disabledTools"}
    server = {names.get(key, key): value for key, value in entry.items() if key != "trust"}
    return {"type": "sse", **server} if "url" in server else server


def opencode_server(entry: Any) -> Any:
    """Convert an entry of opencode. An entry that uses its variables is returned unchanged."""
    if not isinstance(entry, dict) or "{env:" in str(entry) or "{file:" in str(entry):
        return entry
    server = {key: value for key, value in entry.items() if key != "type"}
    if entry.get("type") == "local" and isinstance(entry.get("command"), list) and entry["command"]:
        server["command"], *server["args"] = entry["command"]
        server["env"] = server.pop("environment", {})
        return server
    return server if entry.get("type") == "remote" else entry
