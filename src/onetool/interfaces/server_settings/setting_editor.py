"""Single settings, by their dotted keys: read, set and unset in the user's or the project's file."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from onetool.domain.errors import SettingsError
from onetool.domain.secrets.detection import is_probably_secret, literal_credentials
from onetool.domain.secrets.redaction import MASK
from onetool.files.safe_yaml import parse_yaml
from onetool.settings.configuration import Configuration
from onetool.settings.documents import SETTINGS_FILE, read_stored_settings
from onetool.settings.paths import Paths
from onetool.settings.setting_keys import SettingInfo, check_value, find_setting, format_key, get_value
from onetool.settings.yaml_editor import set_value, unset_value

from .settings_file import edit_settings

MISSING = object()
Origin = Literal["default", "user", "project"]
FREE_TEXT = frozenset({"env", "headers", "fixed", "args", "url", "packs"})
"""Keys below which values may be secrets."""


class SettingChanged(Exception):
    """A setting has another value in the file than the one that the user saw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingValue:
    """A setting with its value, and where that comes from."""

    info: SettingInfo
    value: Any
    """The active one."""
    origin: Origin
    file: Path | None
    """The file that sets it; None: it is the default."""
    stored: Any
    """The value in the user's file, as it is written there; None if it is not set there."""
    digest: str
    """A hash of the value in the user's file. Empty: it is not set there."""


class SettingReader:
    """Reads the settings of a configuration, with the files that set them. It blocks."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._files = read_stored_settings(configuration.paths)

    def get(self, info: SettingInfo) -> SettingValue:
        """Return the value of a setting."""
        found = [(file, _find(value, info.path)) for file, value in self._files]
        setting = [file for file, value in found if value is not MISSING]
        user_file = self._configuration.paths.config / SETTINGS_FILE
        stored = next((value for file, value in found if file == user_file), MISSING)
        file = setting[-1] if setting else None
        return SettingValue(
            info=info,
            value=get_value(self._configuration.settings, info.path),
            origin="default" if file is None else "user" if file == user_file else "project",
            file=file,
            stored=None if stored is MISSING else stored,
            digest=_digest(stored),
        )


def set_setting(
    paths: Paths, path: Sequence[str], value: Any, *, digest: str | None = None, in_project: bool = False
) -> Any:
    """Set a setting in the user's file, or in that of the project. Return what it replaced there. It blocks.

    digest: the hash of the value that the user saw. None: any value may be replaced.

    Raises:
        SettingChanged: The setting has another value.
        SettingsError: The key or the value is invalid, or the file cannot be edited.
    """
    find_setting(path)
    check_value(path, value)
    stored: Any = MISSING

    def change(file: Path, text: str) -> str:
        nonlocal stored
        stored = _check_digest(file, text, path, digest)
        _refuse_secrets(path, value, stored)
        return set_value(file, text, path, value)

    edit_settings(paths, change, in_project=in_project)
    return None if stored is MISSING else stored


def unset_setting(
    paths: Paths, path: Sequence[str], *, digest: str | None = None, in_project: bool = False
) -> None:
    """Remove a setting from the user's file, or from that of the project. It blocks.

    Raises:
        SettingChanged: The setting has another value than the user saw.
        SettingsError: The file has no such setting, or cannot be edited.
    """

    def change(file: Path, text: str) -> str:
        _check_digest(file, text, path, digest)
        return unset_value(file, text, path)

    edit_settings(paths, change, in_project=in_project)


def _check_digest(file: Path, text: str, path: Sequence[str], digest: str | None) -> Any:
    """Return the value in the file."""
    stored = _find(parse_yaml(file, text.encode()).value, path)
    if digest is not None and _digest(stored) != digest:
        raise SettingChanged(f"{format_key(path)} was changed elsewhere. Read it again.")
    return stored


def _find(value: Any, path: Sequence[str]) -> Any:
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return MISSING
        value = value[name]
    return value


def _digest(value: Any) -> str:
    if value is MISSING:
        return ""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def secret_values(path: Sequence[str], value: Any) -> dict[str, str]:
    """Return what looks like a secret in a value, and is written out: the texts, with their keys."""
    return {secret: key for key, secret in _find_secrets(tuple(path), value)}


def _credentials_in(text: str) -> Iterator[str]:
    for found in literal_credentials({}, url=text):
        yield from (form for form in {found, quote(found, "")} if form in text)


def hide_secrets(path: Sequence[str], value: Any) -> Any:
    """Return a value in which everything that looks like a secret is masked."""
    return hide_texts(value, secret_values(path, value))


def hide_texts(value: Any, secrets: Collection[str]) -> Any:
    """Return a value in which these texts are masked, also inside longer texts."""
    if isinstance(value, Mapping):
        return {name: hide_texts(item, secrets) for name, item in value.items()}
    if isinstance(value, list):
        return [hide_texts(item, secrets) for item in value]
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            value = value.replace(secret, MASK)
    return value


def _refuse_secrets(path: Sequence[str], value: Any, stored: Any) -> None:
    """Check that a value contains no new secret. The message does not quote it."""
    known = secret_values(path, stored)
    new = [key for secret, key in secret_values(path, value).items() if secret not in known]
    if new:
        raise SettingsError(
            f"{new[0]} looks like a secret, which does not belong into settings. Store it with: "
            "onetool secrets set NAME. Then write ${NAME} here; a pack reads it with get_secret."
        )


def _find_secrets(path: tuple[str, ...], value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _find_secrets((*path, str(name)), item)
    elif isinstance(value, list) and path[-1] == "args":
        yield from ((format_key(path), text) for text in literal_credentials({}, list(map(str, value))))
    elif isinstance(value, list):
        for item in value:
            yield from _find_secrets(path, item)
    elif isinstance(value, str) and "${" not in value:
        if FREE_TEXT & set(path) and is_probably_secret(path[-1], value):
            yield format_key(path), value
        else:  # credentials in URLs, and after names such as `token=`
            yield from ((format_key(path), text) for text in _credentials_in(value))
