"""Change one map of a settings file, and leave everything else as its author wrote it, comments and all.

The new text is parsed again and compared with what was meant. Whatever this editor did not understand is
refused, never damaged.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from onetool.domain.errors import SettingsError

from .yaml_file import parse_yaml

INDENT = "  "
UNWRITABLE = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Signs that JSON allows in a text, and YAML only as escapes."""


def add_entries(file: Path, text: str, key: str, entries: Mapping[str, Any]) -> str:
    """Return the text with these entries in the map `key`, which is made where there is none.

    Raises SettingsError where an entry is there already, or the file is written in a way we cannot edit.
    """
    meant = _value(file, text)
    known = _map(file, meant, key)
    if taken := [name for name in entries if name in known]:
        raise SettingsError(f"{file}: {key}: {taken[0]!r} is there already.")
    meant[key] = {**known, **entries}
    return _checked(file, _Editor(text, key).add(entries), meant, key)


def remove_entry(file: Path, text: str, key: str, name: str) -> str:
    """Return the text without one entry of the map `key`.

    Raises SettingsError where it is not there, or the file is written in a way we cannot edit.
    """
    meant = _value(file, text)
    known = _map(file, meant, key)
    if name not in known:
        raise SettingsError(f"{file}: {key}: there is no {name!r}.")
    meant[key] = {other: value for other, value in known.items() if other != name}
    return _checked(file, _Editor(text, key).remove(name), meant, key)


def set_secret(file: Path, text: str, name: str, value: str | None) -> str:
    """Return the text of a secrets file with another value of this name, or without it; no error quotes it.

    Raises SettingsError where the file is written in a way we cannot edit.
    """
    meant = _value(file, text, quote=False)
    editor = _Editor(text, name)
    without = editor.drop() if name in meant else editor.text
    before = meant.pop(name, None)
    if value is None:
        return _checked(file, without, meant, name, quote=False)
    after = {"value": value, **_others(before)} if isinstance(before, dict) else value
    line = f"{name}: {_quoted(after)}{editor.end}"
    return _checked(file, without + line, {**meant, name: after}, name, quote=False)


def _value(file: Path, text: str, *, quote: bool = True) -> dict[str, Any]:
    value = parse_yaml(file, text.encode(), quote=quote).value
    if not isinstance(value, dict | None):
        raise SettingsError(f"{file}:1: not a map.")
    return value or {}


def _map(file: Path, meant: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = meant.get(key)
    if not isinstance(found, dict | None):
        raise SettingsError(f"{file}: {key}: not a map of names. Change it by hand.")
    return found or {}


def _others(secret: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in secret.items() if key != "value"}


def _quoted(value: Any) -> str:
    """A text, or a map of a secret, on one line."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return UNWRITABLE.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def _checked(file: Path, text: str, meant: Mapping[str, Any], key: str, *, quote: bool = True) -> str:
    try:
        found = _value(file, text, quote=quote)
    except SettingsError:
        found = None
    if found != meant:
        raise SettingsError(
            f"{file}: {key}: written in a way that cannot be edited for you. Change it by hand."
        )
    return text


class _Editor:
    """The lines of a file, how they end, and where one of its maps stands among them."""

    def __init__(self, text: str, key: str) -> None:
        self.end = "\r\n" if "\r\n" in text else "\n"
        self._lines = text.splitlines(keepends=True)
        if self._lines and not self._lines[-1].endswith("\n"):
            self._lines[-1] += self.end
        self._key = key
        root = yaml.compose(text, yaml.CSafeLoader)
        pairs = root.value if isinstance(root, yaml.MappingNode) else []
        found = next(((name, value) for name, value in pairs if name.value == key), (None, None))
        self._name: yaml.Node | None = found[0]
        self._map: yaml.Node | None = found[1]

    @property
    def text(self) -> str:
        """All lines as they are now."""
        return "".join(self._lines)

    def drop(self) -> str:
        """Take out the key itself, with all that it holds."""
        if self._name is not None and self._map is not None:
            del self._lines[self._name.start_mark.line : _last_line(self._map) + 1]
        return self.text

    def add(self, entries: Mapping[str, Any]) -> str:
        if self._name is None or self._map is None:
            return "".join([*self._lines, f"{self._key}:{self.end}", *self._block(entries, INDENT)])
        indent, at = INDENT, self._name.start_mark.line
        if isinstance(self._map, yaml.MappingNode) and self._map.value:
            indent = " " * self._map.value[0][0].start_mark.column
        else:  # nothing, or {}
            start, end = self._map.start_mark, self._map.end_mark
            line = self._lines[at]
            self._lines[at] = line[: start.column] + line[end.column :] if start.line == at else line
        return "".join([*self._lines[: at + 1], *self._block(entries, indent), *self._lines[at + 1 :]])

    def remove(self, name: str) -> str:
        pairs = self._map.value if isinstance(self._map, yaml.MappingNode) else []
        key, value = next((key, value) for key, value in pairs if key.value == name)
        if self._name is None or key.start_mark.line == self._name.start_mark.line:
            return self.text  # all on one line: refused by whoever checks it
        del self._lines[key.start_mark.line : _last_line(value) + 1]
        if len(pairs) == 1:
            at = self._name.start_mark.line
            self._lines[at] = self._lines[at].replace(":", ": {}", 1)
        return self.text

    def _block(self, entries: Mapping[str, Any], indent: str) -> list[str]:
        text = yaml.safe_dump(dict(entries), sort_keys=False, allow_unicode=True, width=1_000)
        return [indent + line + self.end for line in text.removesuffix("\n").split("\n")]


def _last_line(node: yaml.Node) -> int:
    """The last line on which a value stands; as YAML sees it, a block ends where the next thing begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    return node.end_mark.line - (node.end_mark.column == 0 and node.end_mark.line > node.start_mark.line)
