"""The settings of one server in the user's file: read, replaced, removed."""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetool.domain.errors import SettingsError
from onetool.domain.secrets.redaction import MASK
from onetool.domain.servers.client_config import move_secrets_out
from onetool.files.safe_yaml import parse_yaml
from onetool.settings.documents import SETTINGS_FILE
from onetool.settings.paths import Paths
from onetool.settings.yaml_editor import add_entries, remove_entry

from .import_plan import SECTION
from .settings_file import edit_settings

Mask = Callable[[Any], Any]


class ServerChanged(Exception):
    """The settings of a server changed after they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredServer:
    """The settings of a server as they are in the file."""

    settings: dict[str, Any]

    @property
    def digest(self) -> str:
        """A hash of the settings."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True, default=str).encode()).hexdigest()


def read_server(paths: Paths, name: str) -> StoredServer | None:
    """Return the settings of a server in the user's file, or None if it is not there. It blocks.

    Raises:
        SettingsError: The file is invalid.
    """
    file = paths.config / SETTINGS_FILE
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    return _find(file, content, name)


def write_server(
    paths: Paths, name: str, settings: Mapping[str, Any], *, secrets: Collection[str], mask: Mask, digest: str
) -> list[str]:
    """Add a server, or replace its settings. Return the names of secrets that were moved out of them.

    It blocks.

    Args:
        secrets: The names of existing secrets.
        mask: Hides secrets. A hidden value in the settings keeps its present value.
        digest: Hash of the settings that the user has seen, or an empty string for a new server.

    Raises:
        ServerChanged: The server has other settings than the user has seen.
        SettingsError: The new settings are invalid, or the file cannot be edited.
    """
    current = read_server(paths, name)
    restored = restore_hidden(dict(settings), current.settings if current else {}, mask)
    moved, new_secrets = move_secrets_out(name, restored, secrets)

    def change(file: Path, text: str) -> str:
        present = _find(file, text.encode(), name)
        if (present.digest if present else "") != digest:
            raise ServerChanged(f"Server {name!r} was changed meanwhile. Read its settings again.")
        if present is not None:
            text = remove_entry(file, text, SECTION, name)
        return add_entries(file, text, SECTION, {name: moved})

    edit_settings(paths, change, new_secrets)
    return list(new_secrets)


def set_enabled(paths: Paths, name: str, *, enabled: bool) -> None:
    """Enable or disable a server. It blocks.

    Raises:
        SettingsError: The file has no such server, or cannot be edited.
    """

    def change(file: Path, text: str) -> str:
        present = _find(file, text.encode(), name)
        without = remove_entry(file, text, SECTION, name)
        settings = dict(present.settings) if present else {}
        settings.pop("enabled", None)
        return add_entries(file, without, SECTION, {name: settings | ({} if enabled else {"enabled": False})})

    edit_settings(paths, change)


def remove_server(paths: Paths, name: str) -> None:
    """Remove a server from the settings. It blocks.

    Raises:
        SettingsError: The file has no such server, or cannot be edited.
    """
    edit_settings(paths, lambda file, text: remove_entry(file, text, SECTION, name))


def restore_hidden(new: Any, current: Any, mask: Mask) -> Any:
    """Return a value in which each part that equals a hidden part of the current value is that part.

    Raises:
        SettingsError: A part is hidden and has no current value.
    """
    if isinstance(new, dict):
        known = current if isinstance(current, dict) else {}
        return {key: restore_hidden(value, known.get(key), mask) for key, value in new.items()}
    if isinstance(new, list):
        return _restore_list(new, current, mask)
    if current is not None and new != current and mask(current) == new:
        return current
    if isinstance(new, str) and MASK in new and new != current:
        raise SettingsError(f"{new!r} contains a hidden value. Enter the whole value again.")
    return new


def _restore_list(new: list[Any], current: Any, mask: Mask) -> list[Any]:
    """Return a list with its hidden parts. An item that is not as it was shown has no current value."""
    known = current if isinstance(current, list) and len(current) == len(new) else [None] * len(new)
    shown = _shown(known, mask)
    restored: list[Any] = []
    for index, (value, item) in enumerate(zip(new, known, strict=True)):
        # The text before a text may be the option that it belongs to.
        start = max(index - 1, 0) if isinstance(value, str) else index
        is_same = new[start : index + 1] == shown[start : index + 1]
        restored.append(restore_hidden(value, item if is_same else None, mask))
    return restored


def _shown(value: Any, mask: Mask) -> Any:
    """Return a value as it is shown, with its secrets hidden."""
    if isinstance(value, dict):
        return {key: _shown(item, mask) for key, item in value.items()}
    return [_shown(item, mask) for item in value] if isinstance(value, list) else mask(value)


def _find(file: Path, content: bytes, name: str) -> StoredServer | None:
    value = parse_yaml(file, content).value or {}
    section = value.get(SECTION) if isinstance(value, dict) else None
    if not isinstance(section, dict) or name not in section:
        return None
    if not isinstance(section[name], dict):
        raise SettingsError(f"{file}: {SECTION}.{name} is not a map.")
    return StoredServer(settings=section[name])
