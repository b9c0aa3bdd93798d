"""Edits of one map in a YAML file that leave everything else unchanged, including comments.

The new text is parsed and compared with the expected value, so a file that the editor cannot handle is
rejected instead of corrupted.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from onetool.domain.errors import SettingsError
from onetool.files.safe_yaml import parse_yaml

INDENT = "  "
ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that YAML, unlike JSON, allows in a string only as escapes."""


def add_entries(file: Path, text: str, key: str, entries: Mapping[str, Any]) -> str:
    """Return the text with these entries added to the map `key`. Creates the map if there is none.

    Raises:
        SettingsError: An entry already exists, or the file uses a style that cannot be edited.
    """
    expected = _parse(file, text)
    current = _get_map(file, expected, key)
    if existing := [name for name in entries if name in current]:
        raise SettingsError(f"{file}: {key}: {existing[0]!r} already exists.")
    expected[key] = {**current, **entries}
    return _verify(file, _YamlEditor(text, key).add(entries), expected, key)


def replace_entry(file: Path, text: str, key: str, name: str, value: Any) -> str:
    """Return the text with one entry of the map `key` set to a value. Comments inside the entry are lost.

    Raises:
        SettingsError: The file uses a style that cannot be edited.
    """
    if name in _get_map(file, _parse(file, text), key):
        text = remove_entry(file, text, key, name)
    return add_entries(file, text, key, {name: value})


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
    return _verify(file, _YamlEditor(text, key).remove(name), expected, key)


def set_secret(file: Path, text: str, name: str, value: str | None, hosts: Sequence[str] = ()) -> str:
    """Return the text of a secrets file with a secret set to `value`, or without value if it is None.

    hosts: the hosts that it may be sent to. If there are none, those in the file stay.

    Raises:
        SettingsError: The file uses a style that cannot be edited. The message does not quote the value.
    """
    before = _parse(file, text, quote=False).get(name)
    others = _other_keys(before) if isinstance(before, dict) else {}
    others |= {"hosts": list(hosts)} if hosts else {}
    text = remove_secret(file, text, name)
    given = {} if value is None else {"value": value}
    is_map = bool(others) or (isinstance(before, dict) and value is not None)
    after = {**given, **others} if is_map else value
    line = f"{name}:{'' if after is None else f' {_to_yaml(after)}'}{_YamlEditor(text, name).line_end}"
    expected = {**_parse(file, text, quote=False), name: after}
    return _verify(file, text + line, expected, name, quote=False)


def remove_secret(file: Path, text: str, name: str) -> str:
    """Return the text of a secrets file without a secret. Its last line is complete.

    Raises:
        SettingsError: The file uses a style that cannot be edited.
    """
    expected = _parse(file, text, quote=False)
    editor = _YamlEditor(text, name)
    without = editor.remove_key() if name in expected else editor.text
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


def _to_yaml(value: Any) -> str:
    """Format a secret or its map on one line, as JSON, which is valid YAML."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return ESCAPED.sub(lambda character: f"\\u{ord(character[0]):04x}", text)


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


class _YamlEditor:
    """The lines of a file, and the position of one of its top-level keys."""

    def __init__(self, text: str, key: str) -> None:
        self.line_end = "\r\n" if "\r\n" in text else "\n"
        self._lines = text.splitlines(keepends=True)
        if self._lines and not self._lines[-1].endswith("\n"):
            self._lines[-1] += self.line_end
        self._key = key
        root = yaml.compose(text, yaml.CSafeLoader)
        pairs = root.value if isinstance(root, yaml.MappingNode) else []
        node = next(((name, value) for name, value in pairs if name.value == key), (None, None))
        self._name: yaml.Node | None = node[0]
        self._map: yaml.Node | None = node[1]

    @property
    def text(self) -> str:
        """The current text."""
        return "".join(self._lines)

    def remove_key(self) -> str:
        """Remove the key and its value."""
        if self._name is not None and self._map is not None:
            del self._lines[self._name.start_mark.line : _last_line(self._map) + 1]
        return self.text

    def add(self, entries: Mapping[str, Any]) -> str:
        """Insert entries at the start of the map."""
        if self._name is None or self._map is None:
            return "".join([*self._lines, f"{self._key}:{self.line_end}", *self._block(entries, INDENT)])
        indent, at = INDENT, self._name.start_mark.line
        if isinstance(self._map, yaml.MappingNode) and self._map.value:
            indent = " " * self._map.value[0][0].start_mark.column
        else:  # null or {}
            start, end = self._map.start_mark, self._map.end_mark
            line = self._lines[at]
            self._lines[at] = line[: start.column] + line[end.column :] if start.line == at else line
        return "".join([*self._lines[: at + 1], *self._block(entries, indent), *self._lines[at + 1 :]])

    def remove(self, name: str) -> str:
        """Remove an entry of the map."""
        pairs = self._map.value if isinstance(self._map, yaml.MappingNode) else []
        key, value = next((key, value) for key, value in pairs if key.value == name)
        if self._name is None or key.start_mark.line == self._name.start_mark.line:
            return self.text  # a map on one line is not edited, and `_verify` rejects it
        del self._lines[key.start_mark.line : _last_line(value) + 1]
        if len(pairs) == 1:
            at = self._name.start_mark.line
            self._lines[at] = self._lines[at].replace(":", ": {}", 1)
        return self.text

    def _block(self, entries: Mapping[str, Any], indent: str) -> list[str]:
        text = yaml.safe_dump(dict(entries), sort_keys=False, allow_unicode=True, width=1_000)
        return [indent + line + self.line_end for line in text.removesuffix("\n").split("\n")]


def _last_line(node: yaml.Node) -> int:
    """Return the last line of a value. PyYAML ends a block where the next token starts."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_line(last[1] if isinstance(last, tuple) else last)
    return node.end_mark.line - (node.end_mark.column == 0 and node.end_mark.line > node.start_mark.line)
