"""What an import of servers would write, shown to the user before anything is written."""

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from onetool.domain.servers.client_config import UnsupportedServer, import_server
from onetool.domain.servers.pasted import UnreadableText, entries_in, parse_command_line, suggest_name
from onetool.files.jsonc_editor import parse_jsonc
from onetool.settings.configuration import Configuration
from onetool.settings.paths import Paths
from onetool.settings.server_schema import ServerSettings
from onetool.settings.yaml_editor import add_entries

from .path_grants import grant_paths
from .settings_file import edit_settings

SECTION = "servers"
ImportStatus = Literal["new", "exists", "differs", "unsupported"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedServer:
    """A server of an import, by its name in the text or file."""

    source_name: str
    status: ImportStatus
    name: str = ""
    """The name in OneTool."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    notes: tuple[str, ...] = ()
    problem: str = ""
    """Why it cannot be imported."""


def parse_pasted(text: str) -> dict[str, Any]:
    """Return the server entries of a pasted text: settings of an MCP client, a command line or a URL.

    It blocks: it looks for the paths of a command line.

    Raises:
        UnreadableText: The text contains no server entry.
    """
    stripped = text.strip()
    if not stripped.startswith(("{", '"', "//", "/*")):
        entry = make_paths_absolute(parse_command_line(stripped))
        return {suggest_name(entry): entry}
    # Instructions often show a member of an object without its braces.
    document = f"{{{stripped}}}" if stripped.startswith('"') else stripped
    try:
        return entries_in(parse_jsonc(document))
    except ValueError as error:
        raise UnreadableText(f"The JSON is invalid: {error}.") from None


def plan_import(
    entries: Mapping[str, Any], configuration: Configuration, reserved: Collection[str]
) -> list[PlannedServer]:
    """Return what an import of client entries would write. It blocks: it looks for the paths of arguments.

    reserved: names of packs that are not servers.
    """
    configured = configuration.settings.servers
    taken, secrets = set(reserved), set(configuration.secrets.names)
    planned: list[PlannedServer] = []
    for source_name, entry in entries.items():
        try:
            server = import_server(source_name, entry, taken=taken, secrets=secrets)
        except UnsupportedServer as error:
            planned.append(PlannedServer(source_name=source_name, status="unsupported", problem=str(error)))
            continue
        if server.name in configured:
            is_same = _is_same(server.server, configured[server.name])
            status: ImportStatus = "exists" if is_same else "differs"
            planned.append(PlannedServer(source_name=source_name, status=status, name=server.name))
            continue
        taken.add(server.name)
        secrets |= server.secrets.keys()
        notes = (*server.warnings, *grant_paths(server.server))
        planned.append(
            PlannedServer(
                source_name=source_name,
                status="new",
                name=server.name,
                settings=server.server,
                secrets=server.secrets,
                notes=notes,
            )
        )
    return planned


def digest_of(planned: Sequence[PlannedServer]) -> str:
    """Return a hash of what an import would write."""
    written = [
        [server.name, server.settings, dict(server.secrets)] for server in planned if server.status == "new"
    ]
    return hashlib.sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()


def write_import(paths: Paths, planned: Sequence[PlannedServer]) -> list[str]:
    """Write the new servers and their secrets and return their names. It blocks.

    Raises:
        SettingsError: The settings cannot be edited.
    """
    new = [server for server in planned if server.status == "new"]
    secrets = {key: value for server in new for key, value in server.secrets.items()}
    entries = {server.name: dict(server.settings) for server in new}
    edit_settings(paths, lambda file, text: add_entries(file, text, SECTION, entries), secrets)
    return list(entries)


def make_paths_absolute(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Make existing paths in the arguments absolute: a server does not run where it was added. It blocks."""
    args = {"args": [_absolute(word) for word in entry["args"]]} if "args" in entry else {}
    return {**entry, **args}


def _absolute(word: str) -> str:
    option, separator, value = word.partition("=") if word.startswith("-") else ("", "", word)
    is_path = value in (".", "..") or "/" in value or Path(value).suffix
    try:
        if not is_path or not Path(value).expanduser().exists():
            return word
    except (OSError, ValueError, RuntimeError):  # not a path
        return word
    return f"{option}{separator}{Path(value).expanduser().absolute().resolve()}"


def _is_same(entry: Mapping[str, Any], configured: ServerSettings) -> bool:
    """Return whether a client's entry starts or reaches the configured server.

    Environment and headers are not compared, because import replaces their secrets.
    """
    ours = (configured.command, configured.url, [_without_names(text) for text in configured.args])
    theirs = [_without_names(text) for text in entry.get("args", ())]
    return (entry.get("command"), entry.get("url"), theirs) == ours


def _without_names(text: str) -> str:
    """Remove the names of secrets, which two imports of the same server may choose differently."""
    return re.sub(r"\$\{\w+\}", "${}", text)
