"""The text of a YAML file, changed at single keys. Everything else in the text stays as it is."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

INDENT = "  "
MAX_INLINE = 100
"""Characters up to which a list or a map is written on one line."""
ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that YAML, unlike JSON, allows in a string only as escapes."""


def to_json(value: Any) -> str:
    """Format a value on one line, as JSON, which is valid YAML."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return ESCAPED.sub(lambda character: f"\\u{ord(character[0]):04x}", text)


class YamlText:
    """A text and the positions of its keys. It must be valid YAML and not nested too deeply.

    The result of a change is not checked: anchors, merged maps and several documents are not supported.
    """

    def __init__(self, text: str) -> None:
        self.line_end = "\r\n" if "\r\n" in text else "\n"
        self.text = text if not text or text.endswith("\n") else text + self.line_end
        """The text, whose last line is complete."""
        self._root: yaml.Node | None = yaml.compose(self.text, yaml.CSafeLoader)

    def set(self, path: Sequence[str], value: Any) -> str:
        """Return the text with a key set to a value. Missing maps on the way to it are created."""
        node = self._root
        if not isinstance(node, yaml.MappingNode):
            return self.text + self._block(path[0], _nest(path[1:], value), 0)
        for depth, name in enumerate(path, start=1):
            rest = _nest(path[depth:], value)
            pair = _find(node, name)
            if pair is None:
                return self._insert(node, name, rest)
            if depth == len(path) or not isinstance(pair[1], yaml.MappingNode):
                return self._replace(node, *pair, rest)
            node = pair[1]
        raise ValueError("empty path")

    def unset(self, path: Sequence[str]) -> str:
        """Return the text without a key. A map without keys stays, as `{}`. A missing key is no error."""
        node, above = self._root, None
        for name in path[:-1]:
            above = _find(node, name)
            node = above[1] if above else None
        pair = _find(node, path[-1])
        if pair is None or not isinstance(node, yaml.MappingNode):
            return self.text
        if node.flow_style:
            return self._cut(*_flow_span(node, pair))
        start, end = self._line_start(pair[0]), self._after(pair[1])
        if above is None or len(node.value) > 1:
            return self._cut(start, end)
        colon = self.text.index(":", above[0].end_mark.index) + 1
        return f"{self.text[:colon]} {{}}{self.text[colon:start]}{self.text[end:]}"

    def _insert(self, node: yaml.MappingNode, name: str, value: Any) -> str:
        """Add a key as the last one of a map."""
        if node.flow_style:
            entry = f"{_inline(name)}: {_inline(value)}"
            if not node.value:
                return self._put(node.end_mark.index - 1, entry)
            return self._put(node.value[-1][1].end_mark.index, f", {entry}")
        column = node.value[0][0].start_mark.column
        return self._put(self._after(node), self._block(name, value, column))

    def _replace(self, node: yaml.MappingNode, key: yaml.Node, old: yaml.Node, value: Any) -> str:
        start, end = old.start_mark, old.end_mark
        is_on_one_line = key.start_mark.line == end.line and not _is_block(old)
        if node.flow_style or (is_on_one_line and _fits(value)):
            space = " " if self.text[start.index - 1] == ":" else ""
            return self._cut(start.index, end.index, space + _inline(value))
        block = self._block(str(key.value), value, key.start_mark.column)
        return self._cut(self._line_start(key), self._after(old), block)

    def _block(self, name: str, value: Any, column: int) -> str:
        """Format a key and its value as lines."""
        if _fits(value):
            lines = [f"{_inline(name)}: {_inline(value)}"]
        else:
            text = yaml.safe_dump({name: value}, sort_keys=False, allow_unicode=True, width=1_000)
            lines = text.removesuffix("\n").split("\n")
        return "".join(" " * column + line + self.line_end for line in lines)

    def _line_start(self, node: yaml.Node) -> int:
        return self.text.rfind("\n", 0, node.start_mark.index) + 1

    def _after(self, node: yaml.Node) -> int:
        """Return where the line after a value starts. PyYAML ends a block where the next token starts."""
        if isinstance(node, yaml.CollectionNode) and _is_block(node):
            last = node.value[-1]
            return self._after(last[1] if isinstance(last, tuple) else last)
        end = node.end_mark
        if end.column == 0 and end.line > node.start_mark.line:
            return int(end.index)
        return self.text.find("\n", end.index) + 1 or len(self.text)

    def _put(self, at: int, text: str) -> str:
        return self._cut(at, at, text)

    def _cut(self, start: int, end: int, text: str = "") -> str:
        return self.text[:start] + text + self.text[end:]


def _find(node: yaml.Node | None, name: str) -> tuple[yaml.Node, yaml.Node] | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((pair for pair in pairs if pair[0].value == name), None)


def _is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style and bool(node.value)


def _flow_span(node: yaml.MappingNode, pair: tuple[yaml.Node, yaml.Node]) -> tuple[int, int]:
    """Return the start and the end of a pair in a map on one line, with one of the commas beside it."""
    index = node.value.index(pair)
    if index + 1 < len(node.value):
        return pair[0].start_mark.index, node.value[index + 1][0].start_mark.index
    start = node.value[index - 1][1].end_mark.index if index else pair[0].start_mark.index
    return start, pair[1].end_mark.index


def _nest(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _fits(value: Any) -> bool:
    """Return whether a value is written on one line: text, numbers, and short lists and maps of them."""
    if not isinstance(value, Mapping | list | tuple) or not value:
        return True
    items = value.values() if isinstance(value, Mapping) else value
    is_flat = not any(isinstance(item, Mapping | list | tuple) for item in items)
    return is_flat and not isinstance(value, Mapping) and len(_inline(value)) <= MAX_INLINE


def _inline(value: Any) -> str:
    """Format a value for one line, also inside a list or map on one line."""
    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(
        [plain], default_flow_style=True, sort_keys=False, allow_unicode=True, width=float("inf")
    )
    text = text.removesuffix("\n")[1:-1]
    return to_json(plain) if "\n" in text or "\r" in text else text
