"""Settings files of MCP clients: their paths, reading their servers, adding and removing OneTool."""

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from onetool.files.atomic import write_atomic, write_new
from onetool.files.jsonc_editor import parse_jsonc, remove_member, set_member
from onetool.files.toml_editor import remove_table

from .mcp_client_entries import (
    Entry,
    gemini_server,
    opencode_entry,
    opencode_server,
    plain_entry,
    same_server,
    starts_onetool,
    typed_entry,
    zed_server,
)

NAME = "onetool"


class UnreadableClientConfig(Exception):
    """The settings file of a client cannot be read or edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClient:
    """An MCP client and the settings file with its servers."""

    name: str
    title: str
    """The name that its vendor uses."""
    file: Path
    key: str = "mcpServers"
    make_entry: Callable[[str, list[str]], Entry] = plain_entry
    """Returns the entry of a server in this client's form."""
    read_entry: Callable[[Any], Any] = same_server
    """Converts an entry to the usual form with command, args and env, or url and headers."""

    @property
    def is_toml(self) -> bool:
        """Return whether the file is TOML. Otherwise it is JSON, perhaps with comments."""
        return self.file.suffix == ".toml"

    def text(self) -> str:
        """Return the content of the file with its original line ends, or an empty text if there is none.

        Raises:
            UnreadableClientConfig: The file cannot be read.
        """
        try:
            return self.file.read_bytes().decode()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableClientConfig(f"Cannot read {self.file}: {error}") from None

    def servers(self) -> dict[str, Any]:
        """Return the servers of the client, in the usual form.

        Raises:
            UnreadableClientConfig: The file cannot be read or is invalid.
        """
        return {name: self.read_entry(entry) for name, entry in self._entries(self.text()).items()}

    def with_server(self, command: str, args: list[str], without: Collection[str] = ()) -> str:
        """Return the content of the file with OneTool added and the servers in `without` removed.

        Raises:
            UnreadableClientConfig: The file is invalid, or it is TOML and `without` is not empty.
        """
        text = self.text()
        entries = self._entries(text)
        if self.is_toml:
            return self._with_toml_entry(text, entries, command, args, without)
        entry = self.make_entry(command, args)
        try:
            for name in sorted(without & entries.keys()):
                text = remove_member(text, (self.key, name))
            return text if entries.get(NAME) == entry else set_member(text, (self.key, NAME), entry)
        except ValueError as error:
            raise UnreadableClientConfig(f"Cannot edit {self.file}: {error}") from None

    def onetool_entries(self) -> list[str]:
        """Return the names of the entries that start OneTool, also for a profile or for one server.

        Raises:
            UnreadableClientConfig: The file cannot be read or is invalid.
        """
        return [name for name, entry in self.servers().items() if name == NAME or starts_onetool(entry)]

    def without_servers(self, names: Collection[str]) -> str:
        """Return the content of the file without these servers.

        Raises:
            UnreadableClientConfig: The file is invalid, or they cannot be removed from it.
        """
        text = self.text()
        try:
            for name in names:
                path = (self.key, name)
                text = remove_table(text, path) if self.is_toml else remove_member(text, path)
        except ValueError as error:
            raise UnreadableClientConfig(
                f"Cannot edit {self.file}: {error}. Remove {', '.join(names)} yourself"
            ) from None
        return text

    def write(self, text: str) -> Path | None:
        """Replace the file and return the path of the backup, or None if there was no file."""
        file = self.file.resolve()  # an atomic write would replace a symlink
        if not file.exists():
            write_atomic(file, text.encode())
            return None
        backup = self._back_up()
        write_atomic(file, text.encode(), mode=file.stat().st_mode & 0o777)
        return backup

    def _entries(self, text: str) -> dict[str, Any]:
        try:
            data = tomllib.loads(text) if self.is_toml else parse_jsonc(text)
        except ValueError as error:
            raise UnreadableClientConfig(f"{self.file} is not valid: {error}") from None
        entries = data.get(self.key, {}) if isinstance(data, dict) else None
        if not isinstance(entries, dict):
            raise UnreadableClientConfig(f"{self.file} has no map of servers under {self.key!r}")
        return entries

    def _with_toml_entry(
        self, text: str, entries: Mapping[str, Any], command: str, args: list[str], without: Collection[str]
    ) -> str:
        if without:
            raise UnreadableClientConfig(
                f"Cannot edit TOML: remove {', '.join(sorted(without))} from {self.file} yourself"
            )
        if NAME in entries:
            return text
        entry = f"[{self.key}.{NAME}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n"
        edited = f"{text.rstrip()}\n\n{entry}".lstrip()
        try:
            self._entries(edited)
        except UnreadableClientConfig:  # an inline table cannot be extended
            raise UnreadableClientConfig(
                f"Cannot edit {self.file}: add this to it yourself:\n{entry}"
            ) from None
        return edited

    def _back_up(self) -> Path:
        content, name = self.file.read_bytes(), f"{self.file.name}.before-onetool"
        numbered = (f"{name}-{number}" for number in count(2))
        backups = (self.file.with_name(candidate) for candidate in chain([name], numbered))
        return next(backup for backup in backups if write_new(backup, content))


def known_clients(env: Mapping[str, str] | None = None, platform: str = sys.platform) -> dict[str, McpClient]:
    """Return the supported clients with the user's settings files."""
    env = os.environ if env is None else env
    home = Path(env.get("HOME") or Path.home())
    xdg = Path(env.get("XDG_CONFIG_HOME") or home / ".config")
    settings = _settings_dir(home, env, platform)
    vscode = settings / "Code" / "User"
    clients = [
        McpClient(
            name="claude-desktop",
            title="Claude Desktop",
            file=settings / "Claude" / "claude_desktop_config.json",
        ),
        McpClient(name="cursor", title="Cursor", file=home / ".cursor" / "mcp.json"),
        McpClient(
            name="vscode",
            title="VS Code",
            file=vscode / "mcp.json",
            key="servers",
            make_entry=typed_entry,
        ),
        McpClient(name="codex", title="Codex", file=home / ".codex" / "config.toml", key="mcp_servers"),
        McpClient(name="windsurf", title="Windsurf", file=home / ".codeium" / "windsurf" / "mcp_config.json"),
        McpClient(
            name="zed",
            title="Zed",
            file=(settings / "Zed" if platform == "win32" else xdg / "zed") / "settings.json",
            key="context_servers",
            read_entry=zed_server,
        ),
        McpClient(
            name="gemini",
            title="Gemini CLI",
            file=home / ".gemini" / "settings.json",
            read_entry=gemini_server,
        ),
        McpClient(
            name="cline",
            title="Cline",
            file=vscode / "globalStorage" / "saoudrizwan.claude-dev" / "settings" / "cline_mcp_settings.json",
        ),
        McpClient(
            name="opencode",
            title="opencode",
            file=_first_existing(xdg / "opencode" / "opencode.jsonc", xdg / "opencode" / "opencode.json"),
            key="mcp",
            make_entry=opencode_entry,
            read_entry=opencode_server,
        ),
    ]
    return {client.name: client for client in clients}


def replace_with_onetool(client: McpClient, names: Collection[str]) -> Path | None:
    """Replace servers of a client with OneTool. Return the path of the backup. It blocks.

    Raises:
        UnreadableClientConfig: The settings of the client cannot be edited.
    """
    command = shutil.which("onetool") or "onetool"
    return client.write(client.with_server(command, ["mcp"], without=set(names)))


def _settings_dir(home: Path, env: Mapping[str, str], platform: str) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        return Path(env.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(env.get("XDG_CONFIG_HOME") or home / ".config")


def _first_existing(*files: Path) -> Path:
    """Return the first file that exists, or the last one."""
    return next((file for file in files if file.exists()), files[-1])
