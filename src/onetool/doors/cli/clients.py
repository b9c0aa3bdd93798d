"""The settings files of MCP clients: where they lie, which servers they hold, how OneTool gets into them."""

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


class Unreadable(Exception):
    """A client's file that is not what it should be: it is left as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A program that speaks MCP, and where it keeps its servers."""

    name: str
    file: Path
    key: str = "mcpServers"

    @property
    def is_toml(self) -> bool:
        """Whether the file is TOML; the others are JSON."""
        return self.file.suffix == ".toml"

    def text(self) -> str:
        """The file as it is; empty where there is none."""
        try:
            return self.file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise Unreadable(f"{self.file} cannot be read: {error}") from None

    def servers(self) -> dict[str, Any]:
        """The servers that the client knows.

        Raises Unreadable.
        """
        text = self.text()
        try:
            said = (tomllib.loads(text) if self.is_toml else json.loads(text)) if text.strip() else {}
        except ValueError as error:
            raise Unreadable(f"{self.file} is not valid: {error}") from None
        servers = said.get(self.key, {}) if isinstance(said, dict) else None
        if not isinstance(servers, dict):
            raise Unreadable(f"{self.file} holds no map of servers under {self.key!r}")
        return servers

    def with_server(self, command: str, args: list[str], without: Collection[str] = ()) -> str:
        """The file's text with OneTool in it, in place of some servers perhaps; everything else stays.

        Raises Unreadable.
        """
        servers, text = self.servers(), self.text()
        if self.is_toml:
            if without:
                raise Unreadable(f"take {', '.join(sorted(without))} out of {self.file} by hand: it is TOML")
            if NAME in servers:
                return text
            entry = f"[{self.key}.{NAME}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
            return f"{text.rstrip()}\n\n{entry}".lstrip()
        said = json.loads(text) if text.strip() else {}
        kept = {name: server for name, server in servers.items() if name not in without}
        said[self.key] = {**kept, NAME: {"command": command, "args": args}}
        return json.dumps(said, indent=2, ensure_ascii=False) + "\n"

    def write(self, text: str) -> Path | None:
        """Replace the file; return where the old one was copied to, beside all earlier ones."""
        backup = self._back_up() if self.file.exists() else None
        write_atomic(self.file, text.encode())
        return backup

    def _back_up(self) -> Path:
        content, name = self.file.read_bytes(), f"{self.file.name}.before-onetool"
        numbered = (f"{name}-{number}" for number in count(2))
        backups = (self.file.with_name(one) for one in chain([name], numbered))
        return next(backup for backup in backups if write_new(backup, content))


def known_clients(env: Mapping[str, str] | None = None, platform: str = sys.platform) -> dict[str, Client]:
    """The clients that OneTool knows, with the files of this user."""
    env = os.environ if env is None else env
    home = Path(env.get("HOME") or Path.home())
    settings = _settings_dir(home, env, platform)
    clients = [
        Client(name="claude", file=settings / "Claude" / "claude_desktop_config.json"),
        Client(name="cursor", file=home / ".cursor" / "mcp.json"),
        Client(name="vscode", file=settings / "Code" / "User" / "mcp.json", key="servers"),
        Client(name="codex", file=home / ".codex" / "config.toml", key="mcp_servers"),
    ]
    return {client.name: client for client in clients}


def _settings_dir(home: Path, env: Mapping[str, str], platform: str) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(env.get("XDG_CONFIG_HOME") or home / ".config")
