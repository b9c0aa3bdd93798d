"""A reader of untrusted YAML files that records the line of each key.

It builds values from parser events. The usual node tree crashes the interpreter on deep nesting and silently
drops duplicate keys.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from onetool.domain.errors import SettingsError

from .yaml_document import KeyPath, YamlDocument

MAX_BYTES = 1_000_000
MAX_DEPTH = 50
MAX_NODES = 50_000
"""Number of values after aliases are expanded, because aliases can make a small file very large."""
PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
_NO_KEY = object()
INVALID_START = "found character that cannot start any token"
"""What the parser reports for tabs and reserved characters."""


def parse_yaml(file: Path, content: bytes, *, quote: bool = True) -> YamlDocument:
    """Parse one YAML document.

    quote: whether errors may quote the content. Pass False if it contains secrets.

    Raises:
        SettingsError: The content is malformed or exceeds a limit. The message has the file and the line.
    """
    if len(content) > MAX_BYTES:
        raise SettingsError(f"{file}:1: larger than {MAX_BYTES} bytes.")
    try:
        loader = yaml.CSafeLoader(content.decode("utf-8-sig"))
        try:
            return _YamlReader(file, loader, quote).read()
        finally:
            loader.dispose()
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file}:1: not UTF-8 text (byte {error.start}).") from None
    except yaml.YAMLError as error:
        raise SettingsError(_format_error(file, error, quote)) from None


def _format_error(file: Path, error: yaml.YAMLError, quote: bool) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark else 1
    problem = (getattr(error, "problem", None) or str(error)).partition("\n")[0]
    if problem == INVALID_START:
        problem = "a tab or an unquoted @, ` or %; indent with spaces and quote these characters"
    return f"{file}:{line}: not valid YAML" + (f": {problem}." if quote else ".")


@dataclass(slots=True)
class _Frame:
    """A mapping or sequence that is being read."""

    value: Any
    path: KeyPath
    anchor: str | None
    start: int
    """Number of values read before it."""
    key: Any = _NO_KEY


class _YamlReader:
    def __init__(self, file: Path, loader: Any, quote: bool) -> None:
        self._file, self._loader, self._quote = file, loader, quote
        self._lines: dict[KeyPath, int] = {}
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._stack: list[_Frame] = []
        self._root: Any = None
        self._nodes = self._documents = 0

    def read(self) -> YamlDocument:
        handlers = {
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._open,
            yaml.SequenceStartEvent: self._open,
            yaml.MappingEndEvent: self._close,
            yaml.SequenceEndEvent: self._close,
            yaml.DocumentStartEvent: self._document,
        }
        while (event := self._loader.get_event()) is not None:
            if type(event) in handlers:
                handlers[type(event)](event)
        return YamlDocument(self._file, self._root, self._lines)

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise self._error(event, "a second document; only one per file is allowed.")

    def _scalar(self, event: Any) -> None:
        tag = event.tag
        if tag is None or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        try:
            value = self._loader.construct_object(node)
        except yaml.YAMLError:
            raise
        except Exception:  # noqa: BLE001 - the conversion that a tag requests may raise anything
            raise self._error(event, "not a valid YAML value; put it in quotes.") from None
        self._add(event, value, event.anchor, size=1)

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise self._error(event, "an alias without an anchor.")
        value, size = self._anchors[event.anchor]
        self._add(event, value, None, size=size)

    def _open(self, event: Any) -> None:
        if event.tag not in PLAIN_TAGS:
            raise self._error(event, "not valid YAML: unknown tag.")
        if len(self._stack) >= MAX_DEPTH:
            raise self._error(event, f"nested more than {MAX_DEPTH} levels deep.")
        if self._stack and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is _NO_KEY:
            raise self._error(event, "a key must be plain text.")
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        start = self._nodes
        path = self._add(event, value, None, size=1)
        self._stack.append(_Frame(value, path, event.anchor, start))

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.value, self._nodes - frame.start)

    def _add(self, event: Any, value: Any, anchor: str | None, *, size: int) -> KeyPath:
        """Add a value to the innermost open collection. Return its path."""
        self._nodes += size
        if self._nodes > MAX_NODES:
            raise self._error(event, f"more than {MAX_NODES} values.")
        if anchor:
            self._anchors[anchor] = (value, size)
        if not self._stack:
            self._root = value
            return ()
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
            return self._record_line(event, (*frame.path, len(frame.value) - 1))
        if frame.key is _NO_KEY:
            self._set_key(event, frame, value)
            return frame.path
        frame.value[frame.key] = value
        path, frame.key = (*frame.path, frame.key), _NO_KEY
        return path

    def _set_key(self, event: Any, frame: _Frame, key: Any) -> None:
        if isinstance(key, dict | list):
            raise self._error(event, "a key must be plain text.")
        if key in frame.value:
            name = f" {key!r}" if self._quote else ""
            raise self._error(event, f"duplicate key{name}.")
        frame.key = key
        self._record_line(event, (*frame.path, key))

    def _record_line(self, event: Any, path: KeyPath) -> KeyPath:
        self._lines[path] = event.start_mark.line + 1
        return path

    def _error(self, event: Any, problem: str) -> SettingsError:
        return SettingsError(f"{self._file}:{event.start_mark.line + 1}: {problem}")
