"""Settings files of MCP clients: their paths, reading their servers, adding OneTool to them."""

import json
import os
import sys
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from onetool.files.atomic import write_atomic, write_new

NAME = "onetool"


class UnreadableClientConfig(Exception):
    """The settings file of a client cannot be read or edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClient:
    """An MCP client and the settings file with its servers."""

    name: str
    file: Path
    key: str = "mcpServers"

    @property
    def is_toml(self) -> bool:
        """Return whether the file is TOML. Otherwise it is JSON."""
        return self.file.suffix == ".toml"

    def text(self) -> str:
        """Return the content of the file, or an empty text if there is none.

        Raises:
            UnreadableClientConfig: The file cannot be read.
        """
        try:
            return self.file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableClientConfig(f"Cannot read {self.file}: {error}") from None

    def servers(self) -> dict[str, Any]:
        """Return the servers of the client.

        Raises:
            UnreadableClientConfig: The file cannot be read or is invalid.
        """
        text = self.text()
        try:
            data = (tomllib.loads(text) if self.is_toml else json.loads(text)) if text.strip() else {}
        except ValueError as error:
            raise UnreadableClientConfig(f"{self.file} is not valid: {error}") from None
        servers = data.get(self.key, {}) if isinstance(data, dict) else None
        if not isinstance(servers, dict):
            raise UnreadableClientConfig(f"{self.file} has no map of servers under {self.key!r}")
        return servers

    def with_server(self, command: str, args: list[str], without: Collection[str] = ()) -> str:
        """Return the content of the file with OneTool added and the servers in `without` removed.

        Raises:
            UnreadableClientConfig: The file is invalid, or it is TOML and `without` is not empty.
        """
        servers, text = self.servers(), self.text()
        if self.is_toml:
            if without:
                raise UnreadableClientConfig(
                    f"Cannot edit TOML: remove {', '.join(sorted(without))} from {self.file} yourself"
                )
            if NAME in servers:
                return text
            entry = f"[{self.key}.{NAME}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
            return f"{text.rstrip()}\n\n{entry}".lstrip()
        data = json.loads(text) if text.strip() else {}
        others = {name: server for name, server in servers.items() if name not in without}
        data[self.key] = {**others, NAME: {"command": command, "args": args}}
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

    def write(self, text: str) -> Path | None:
        """Replace the file and return the path of the backup, or None if there was no file."""
        backup = self._back_up() if self.file.exists() else None
        write_atomic(self.file, text.encode())
        return backup

    def _back_up(self) -> Path:
        content, name = self.file.read_bytes(), f"{self.file.name}.before-onetool"
        numbered = (f"{name}-{number}" for number in count(2))
        backups = (self.file.with_name(candidate) for candidate in chain([name], numbered))
        return next(backup for backup in backups if write_new(backup, content))


def known_clients(env: Mapping[str, str] | None = None, platform: str = sys.platform) -> dict[str, McpClient]:
    """Return the supported clients with the user's settings files."""
    env = os.environ if env is None else env
    home = Path(env.get("HOME") or Path.home())
    settings = _settings_dir(home, env, platform)
    clients = [
        McpClient(name="claude", file=settings / "Claude" / "claude_desktop_config.json"),
        McpClient(name="cursor", file=home / ".cursor" / "mcp.json"),
        McpClient(name="vscode", file=settings / "Code" / "User" / "mcp.json", key="servers"),
        McpClient(name="codex", file=home / ".codex" / "config.toml", key="mcp_servers"),
    ]
    return {client.name: client for client in clients}


def _settings_dir(home: Path, env: Mapping[str, str], platform: str) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(env.get("XDG_CONFIG_HOME") or home / ".config")
