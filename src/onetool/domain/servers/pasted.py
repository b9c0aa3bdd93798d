"""Server entries in text that a person pastes: settings of an MCP client, a command line or a URL."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from .client_config import COMMAND_KEYS, URL_KEYS

SECTIONS = ("mcpServers", "servers", "mcp_servers", "context_servers", "mcp")
"""Keys under which MCP clients keep their servers."""
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
AFFIXES = re.compile(r"^(mcp-server-|server-|mcp-)|(-mcp-server|-mcp|-server)$")
FILE_ENDING = re.compile(r"\.(py|js|mjs|cjs|ts|sh|exe|cmd)$")
VERSION = re.compile(r"(?<=.)(@|==).*$")
RUNNERS = ("npx", "uvx", "bunx", "pipx", "uv", "npm", "pnpm", "yarn", "bun", "deno", "docker", "podman")
INTERPRETERS = re.compile(r"(python|node|ruby|perl|bash|sh)[\d.]*$")
SUBCOMMANDS = ("run", "exec", "dlx", "x", "tool")


class UnreadableText(Exception):
    """The text contains no server entry."""


def entries_in(value: Any) -> dict[str, Any]:
    """Return the entries of parsed client settings, by name: a file, a map of entries, or one entry.

    Raises:
        UnreadableText: The value contains no entries.
    """
    if not isinstance(value, Mapping):
        raise UnreadableText("The JSON is not an object.")
    for key in SECTIONS:
        if isinstance(section := value.get(key), Mapping):
            # VS Code nests the section in its own settings: {"mcp": {"servers": {...}}}.
            return entries_in(section) if any(inner in section for inner in SECTIONS) else dict(section)
    if any(key in value for key in (*COMMAND_KEYS[:1], *URL_KEYS)):
        return {suggest_name(value): dict(value)}
    if value and all(isinstance(entry, Mapping) for entry in value.values()):
        return dict(value)
    raise UnreadableText('The JSON has no servers. Expected: {"mcpServers": {"NAME": {"command": ...}}}.')


def parse_command_line(text: str) -> dict[str, Any]:
    """Return the entry of a command line: `NAME=VALUE ... COMMAND ARGS`, or a URL.

    Raises:
        UnreadableText: The text is not a command line.
    """
    try:
        words = shlex.split(text.replace("\\\n", " "), comments=False)
    except ValueError as error:
        raise UnreadableText(f"The text is neither JSON nor a command line: {error}.") from None
    if words[:1] == ["$"]:
        words = words[1:]
    env: dict[str, str] = {}
    while words and (match := ASSIGNMENT.fullmatch(words[0])):
        env[match[1]] = match[2]
        words = words[1:]
    if not words:
        raise UnreadableText("The text contains no command.")
    if urlsplit(words[0]).scheme in ("http", "https"):
        if len(words) > 1 or env:
            raise UnreadableText("A URL must be alone in the text.")
        return {"url": words[0]}
    return {"command": words[0], "args": words[1:]} | ({"env": env} if env else {})


def suggest_name(entry: Mapping[str, Any]) -> str:
    """Return a name for a server: that of its package, program or host.

    >>> suggest_name({"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@1.0", "."]})
    'filesystem'
    """
    url = next((entry[key] for key in URL_KEYS if isinstance(entry.get(key), str)), "")
    if url:
        host = (urlsplit(url).hostname or "server").split(".")
        parts = [part for part in host if part not in ("www", "api", "mcp", "com")]
        return (parts or host)[0]
    args = entry.get("args")
    words = [entry.get("command"), *(args if isinstance(args, list) else ())]
    return _clean(_program([word for word in words if isinstance(word, str)]))


def _program(words: Sequence[str]) -> str:
    """Return the word of a command line that names the program or package."""
    names = [word.replace("\\", "/").rpartition("/")[2] for word in words[:1]]
    if not names:
        return "server"
    if names[0] not in RUNNERS and not INTERPRETERS.fullmatch(names[0]):
        return names[0]
    others = [word for word in words[1:] if not word.startswith("-") and word not in SUBCOMMANDS]
    return others[0].rstrip("/").rpartition("/")[2] if others else names[0]


def _clean(name: str) -> str:
    shown = VERSION.sub("", FILE_ENDING.sub("", name))
    return AFFIXES.sub("", shown) or shown
