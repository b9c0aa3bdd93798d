"""A reader of untrusted YAML, for settings and for imported documents.

It builds values from parser events. The usual node tree crashes the interpreter on deep nesting and silently
drops duplicate keys.
"""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from onetool.domain.errors import SettingsError

from .yaml_document import KeyPath, YamlDocument

VALUE_SIZE = 8
"""Bytes that each value counts in addition to its text."""
COLLECTION_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
TEXT_TAGS = (None, "!", "tag:yaml.org,2002:str")
BOOL_TAG, TIMESTAMP_TAG = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
MERGE_TAG = "tag:yaml.org,2002:merge"
TRUE_OR_FALSE = re.compile(r"(true|True|TRUE|false|False|FALSE)$")
_NO_KEY, _MERGE = object(), object()
INVALID_START = "found character that cannot start any token"
"""What the parser reports for tabs and reserved characters."""


class _JsonLoader(yaml.CSafeLoader):
    """Reads dates, `on`, `off`, `yes` and `no` as text."""


_JsonLoader.yaml_implicit_resolvers = {
    first: [
        (tag, TRUE_OR_FALSE if tag == BOOL_TAG else regexp) for tag, regexp in rules if tag != TIMESTAMP_TAG
    ]
    for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class InvalidYaml(ValueError):
    """A document is malformed or exceeds a limit."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"{problem} (line {line})")
        self.line = line
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlRules:
    """What a document may contain."""

    max_bytes: int
    max_depth: int
    max_expanded: int
    """Bytes after aliases are expanded, because aliases can make a small document very large."""
    json_types: bool = False
    """Whether dates, `on`, `off`, `yes` and `no` are text, and other tags than text are rejected."""
    quote: bool = True
    """Whether errors may quote the content. False if it contains secrets."""


SETTINGS_RULES = YamlRules(max_bytes=1_000_000, max_depth=50, max_expanded=2_000_000)


def parse_yaml(file: Path, content: bytes, *, quote: bool = True) -> YamlDocument:
    """Parse a settings file.

    quote: whether errors may quote the content. Pass False if it contains secrets.

    Raises:
        SettingsError: The content is malformed or exceeds a limit. The message has the file and the line.
    """
    lines: dict[KeyPath, int] = {}
    try:
        value = read_yaml(content, replace(SETTINGS_RULES, quote=quote), lines=lines)
    except InvalidYaml as error:
        raise SettingsError(f"{file}:{error.line}: {error.problem}.") from None
    return YamlDocument(file, value, lines)


def read_yaml(content: bytes, rules: YamlRules, *, lines: dict[KeyPath, int] | None = None) -> Any:
    """Read one YAML document and return its value.

    lines: receives the line of each key.

    Raises:
        InvalidYaml: The document is malformed or exceeds a limit.
    """
    if len(content) > rules.max_bytes:
        raise InvalidYaml(1, f"larger than {rules.max_bytes} bytes")
    try:
        loader = (_JsonLoader if rules.json_types else yaml.CSafeLoader)(content.decode("utf-8-sig"))
        try:
            return _YamlReader(loader, rules, lines).read()
        finally:
            loader.dispose()
    except UnicodeDecodeError as error:
        raise InvalidYaml(1, f"not UTF-8 text (byte {error.start})") from None
    except yaml.YAMLError as error:
        raise _syntax_error(error, rules.quote) from None


def _syntax_error(error: yaml.YAMLError, quote: bool) -> InvalidYaml:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = (getattr(error, "problem", None) or str(error)).partition("\n")[0]
    if problem == INVALID_START:
        problem = "a tab or an unquoted @, ` or %; indent with spaces and quote these characters"
    return InvalidYaml(mark.line + 1 if mark else 1, "not valid YAML" + (f": {problem}" if quote else ""))


@dataclass(slots=True)
class _Frame:
    """A mapping or sequence that is being read."""

    value: Any
    path: KeyPath
    anchor: str | None
    start: int
    """Size of what was read before it."""
    key: Any = _NO_KEY
    merged: list[Any] = field(default_factory=list)
    """The maps, or the list of maps, of its merge keys."""


class _YamlReader:
    def __init__(self, loader: Any, rules: YamlRules, lines: dict[KeyPath, int] | None) -> None:
        self._loader, self._rules, self._lines = loader, rules, lines
        self._anchors: dict[str, tuple[Any, int]] = {}
        """Complete anchored values and their sizes. An alias to an incomplete one would be recursive."""
        self._stack: list[_Frame] = []
        self._root: Any = None
        self._size = self._documents = 0

    def read(self) -> Any:
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
        return self._root

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise self._error(event, "a second document; only one per file is allowed")

    def _scalar(self, event: Any) -> None:
        tag = event.tag
        if self._rules.json_types and tag not in TEXT_TAGS:
            raise self._error(event, "not valid YAML: unknown tag")
        if tag is None or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        is_key = self._stack and self._stack[-1].key is _NO_KEY and isinstance(self._stack[-1].value, dict)
        value = _MERGE if tag == MERGE_TAG and is_key else self._construct(event, tag)
        anchor = None if value is _MERGE else event.anchor
        self._add(event, value, anchor, size=VALUE_SIZE + len(event.value))

    def _construct(self, event: Any, tag: str) -> Any:
        node = yaml.ScalarNode(tag, event.value, event.start_mark, event.end_mark)
        try:
            return self._loader.construct_object(node)
        except yaml.YAMLError:
            raise
        except Exception:  # noqa: BLE001 - the conversion that a tag requests may raise anything
            raise self._error(event, "not a valid YAML value; put it in quotes") from None

    def _alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise self._error(event, "an alias without an anchor")
        value, size = self._anchors[event.anchor]
        self._add(event, value, None, size=size)

    def _open(self, event: Any) -> None:
        if event.tag not in COLLECTION_TAGS:
            raise self._error(event, "not valid YAML: unknown tag")
        if len(self._stack) >= self._rules.max_depth:
            raise self._error(event, f"nested more than {self._rules.max_depth} levels deep")
        if self._stack and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is _NO_KEY:
            raise self._error(event, "a key must be plain text")
        value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        start = self._size
        path = self._add(event, value, None, size=VALUE_SIZE)
        self._anchors.pop(event.anchor or "", None)
        self._stack.append(_Frame(value, path, event.anchor, start))

    def _close(self, event: Any) -> None:
        frame = self._stack.pop()
        if frame.merged:
            self._merge(event, frame)
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.value, self._size - frame.start)

    def _merge(self, event: Any, frame: _Frame) -> None:
        """Add the keys of the merged maps. The map's own keys and earlier maps have precedence."""
        maps = [item for value in frame.merged for item in (value if isinstance(value, list) else [value])]
        if not all(isinstance(item, dict) for item in maps):
            raise self._error(event, "only maps can be merged")
        for item in maps:
            for key, value in item.items():
                frame.value.setdefault(key, value)

    def _add(self, event: Any, value: Any, anchor: str | None, *, size: int) -> KeyPath:
        """Add a value to the innermost open collection. Return its path."""
        self._size += size
        if self._size > self._rules.max_expanded:
            raise self._error(event, f"more than {self._rules.max_expanded} bytes with its aliases")
        if anchor:
            self._anchors[anchor] = (value, size)
        if not self._stack:
            self._root = value
            return ()
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
            return self._record_line(event, frame, len(frame.value) - 1)
        if frame.key is _NO_KEY:
            self._set_key(event, frame, value)
            return frame.path
        if frame.key is _MERGE:
            frame.merged.append(value)
        else:
            frame.value[frame.key] = value
        key, frame.key = frame.key, _NO_KEY
        return self._path(frame, key)

    def _set_key(self, event: Any, frame: _Frame, key: Any) -> None:
        if isinstance(key, dict | list):
            raise self._error(event, "a key must be plain text")
        if key in frame.value:
            name = f" {key!r}" if self._rules.quote else ""
            raise self._error(event, f"duplicate key{name}")
        frame.key = key
        self._record_line(event, frame, key)

    def _record_line(self, event: Any, frame: _Frame, key: Any) -> KeyPath:
        path = self._path(frame, key)
        if self._lines is not None:
            self._lines[path] = event.start_mark.line + 1
        return path

    def _path(self, frame: _Frame, key: Any) -> KeyPath:
        """Return the path of a value, or an empty one if no lines are recorded."""
        return () if self._lines is None else (*frame.path, key)

    def _error(self, event: Any, problem: str) -> InvalidYaml:
        return InvalidYaml(event.start_mark.line + 1, problem)
