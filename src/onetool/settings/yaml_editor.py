"""Edits of a YAML file that leave everything else unchanged, including comments.

The new text is parsed and compared with the expected value, so a file that the editor cannot handle is
rejected instead of corrupted.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from onetool.domain.errors import SettingsError
from onetool.files.safe_yaml import parse_yaml

from .yaml_text import YamlText, to_json


class Kept(Enum):
    """Stands for what a file has already."""

    HOSTS = "hosts"


SecretHosts = Sequence[str] | Literal[Kept.HOSTS] | None
"""The hosts that a secret may be sent to: these, those in the file, or any (None)."""


def set_value(file: Path, text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with the setting at a path of keys set to a value. Creates the maps on the way.

    Comments inside a replaced list or map are lost.

    Raises:
        SettingsError: A key on the way is not a map, or the file uses a style that cannot be edited.
    """
    expected = _parse(file, text)
    parent = expected
    for depth, name in enumerate(path[:-1], start=1):
        if not isinstance(parent.setdefault(name, {}), dict | None):
            raise SettingsError(f"{file}: {'.'.join(path[:depth])}: not a map. Edit the file manually.")
        parent[name] = dict(parent[name] or {})  # a copy: an anchored map is also elsewhere
        parent = parent[name]
    parent[path[-1]] = value
    return _verify(file, YamlText(text).set(path, value), expected, path[0])


def unset_value(file: Path, text: str, path: Sequence[str]) -> str:
    """Return the text without the setting at a path of keys, and without a top-level map that this empties.

    Raises:
        SettingsError: There is no such key, or the file uses a style that cannot be edited.
    """
    expected = _parse(file, text)
    parent = expected
    for name in path[:-1]:
        child = parent.get(name)
        parent[name] = dict(child) if isinstance(child, dict) else {}
        parent = parent[name]
    if path[-1] not in parent:
        raise SettingsError(f"{file}: there is no {'.'.join(path)!r}.")
    del parent[path[-1]]
    new = _verify(file, YamlText(text).unset(path), expected, path[0])
    return unset_value(file, new, path[:1]) if len(path) == 2 and not parent else new


def add_entries(file: Path, text: str, key: str, entries: Mapping[str, Any]) -> str:
    """Return the text with these entries added to the map `key`. Creates the map if there is none.

    Raises:
        SettingsError: An entry already exists, or the file uses a style that cannot be edited.
    """
    current = _get_map(file, _parse(file, text), key)
    if existing := [name for name in entries if name in current]:
        raise SettingsError(f"{file}: {key}: {existing[0]!r} already exists.")
    for name, value in entries.items():
        text = set_value(file, text, (key, name), value)
    return text


def remove_entry(file: Path, text: str, key: str, name: str) -> str:
    """Return the text without one entry of the map `key`.

    Raises:
        SettingsError: There is no such entry, or the file uses a style that cannot be edited.
    """
    expected = _parse(file, text)
    current = _get_map(file, expected, key)
    if name not in current:
        raise SettingsError(f"{file}: {key}: there is no {name!r}.")
    expected[key] = {other: value for other, value in current.items() if other != name}
    return _verify(file, YamlText(text).unset((key, name)), expected, key)


def set_secret(
    file: Path,
    text: str,
    name: str,
    value: str | None,
    hosts: SecretHosts = Kept.HOSTS,
) -> str:
    """Return the text of a secrets file with a secret set to `value`, or without value if it is None.

    hosts: the hosts that it may be sent to. An empty list: none.

    Raises:
        SettingsError: The file uses a style that cannot be edited. The message does not quote the value.
    """
    before = _parse(file, text, quote=False).get(name)
    others = _other_keys(before) if isinstance(before, dict) else {}
    if hosts is None:
        others.pop("hosts", None)
    elif hosts is not Kept.HOSTS:
        others["hosts"] = list(hosts)
    text = remove_secret(file, text, name)
    given = {} if value is None else {"value": value}
    is_map = bool(others) or (isinstance(before, dict) and value is not None)
    after = {**given, **others} if is_map else value
    line = f"{name}:{'' if after is None else f' {to_json(after)}'}{YamlText(text).line_end}"
    expected = {**_parse(file, text, quote=False), name: after}
    return _verify(file, text + line, expected, name, quote=False)


def remove_secret(file: Path, text: str, name: str) -> str:
    """Return the text of a secrets file without a secret. Its last line is complete.

    Raises:
        SettingsError: The file uses a style that cannot be edited.
    """
    expected = _parse(file, text, quote=False)
    without = YamlText(text).unset((name,))
    expected.pop(name, None)
    return _verify(file, without, expected, name, quote=False)


def _parse(file: Path, text: str, *, quote: bool = True) -> dict[str, Any]:
    value = parse_yaml(file, text.encode(), quote=quote).value
    if not isinstance(value, dict | None):
        raise SettingsError(f"{file}:1: not a map.")
    return value or {}


def _get_map(file: Path, data: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    if not isinstance(value, dict | None):
        raise SettingsError(f"{file}: {key}: not a map. Edit the file manually.")
    return value or {}


def _other_keys(secret: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in secret.items() if key != "value"}


def _verify(file: Path, text: str, expected: Mapping[str, Any], key: str, *, quote: bool = True) -> str:
    try:
        actual = _parse(file, text, quote=quote)
    except SettingsError:
        actual = None
    if actual != expected:
        raise SettingsError(
            f"{file}: {key}: the file uses a style that cannot be edited automatically. Edit it manually."
        )
    return text
