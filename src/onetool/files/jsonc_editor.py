"""Edits of one member in a JSON file that leave everything else unchanged, including comments.

Accepts comments and trailing commas, which many programs allow in their settings. The new text is parsed and
compared with the expected value, so a file that the editor cannot handle is rejected instead of corrupted.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]|[^\s{}\[\],:"/]+|\S', re.DOTALL)
BOM = "\ufeff"
DEFAULT_INDENT = "  "


def parse_jsonc(text: str) -> Any:
    """Return the value of a JSON text with comments and trailing commas. An empty text is an empty object.

    Raises:
        ValueError: The text is invalid. The message has the line.
    """
    return _parse(text).value


def set_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with the member at this path added or replaced. Adds missing objects on the way.

    Raises:
        ValueError: The text is invalid, or the path leads through something that is not an object.
    """
    if not text.removeprefix(BOM).strip():
        text += "{}\n"
    root = node = _parse(text)
    for depth, key in enumerate(path):
        if node.members is None:
            raise ValueError(f"{'.'.join(path[:depth]) or 'the file'} is not an object")
        if key not in node.members:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            edited = _insert(text, root, node, key, value)
            return _verify(edited, _replace_value(root.value, path[: depth + 1], value))
        node = node.members[key].node
    indent = _indent_at(text, node.start)
    edited = text[: node.start] + _dump(text, root, value, indent) + text[node.end :]
    return _verify(edited, _replace_value(root.value, path, value))


def remove_member(text: str, path: Sequence[str]) -> str:
    """Return the text without the member at this path.

    Raises:
        ValueError: The text is invalid, or there is no such member.
    """
    root = node = _parse(text)
    for key in path[:-1]:
        node = (node.members or {})[key].node
    members = list((node.members or {}).items())
    index = next((number for number, (key, _) in enumerate(members) if key == path[-1]), None)
    if index is None:
        raise ValueError(f"there is no {'.'.join(path)}")
    member = members[index][1]
    start, end = member.start, member.node.end if member.comma is None else member.comma + 1
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    if not text[line_start:start].strip() and not text[end:line_end].strip():
        start, end = line_start, line_end + 1
    edited = text[:start] + text[end:]
    if member.comma is None and index and (comma := members[index - 1][1].comma) is not None:
        edited = edited[:comma] + edited[comma + 1 :]
    return _verify(edited, _replace_value(root.value, path, None, remove=True))


@dataclass(slots=True)
class _Node:
    """A value and its position in the text."""

    value: Any
    start: int
    end: int
    members: "dict[str, _ObjectMember] | None" = None


class _ObjectMember(NamedTuple):
    """A member of an object: the position of its key, its value, and the position of the comma after it."""

    start: int
    node: _Node
    comma: int | None


@dataclass(slots=True)
class _JsoncParser:
    text: str
    tokens: list[re.Match[str]] = field(init=False)
    position: int = 0

    def __post_init__(self) -> None:
        start = len(BOM) if self.text.startswith(BOM) else 0
        found = TOKEN.finditer(self.text, start)
        self.tokens = [token for token in found if not token[0].startswith(("//", "/*"))]

    def parse(self) -> _Node:
        node = self._value()
        if self.position < len(self.tokens):
            raise self._error()
        return node

    def _value(self) -> _Node:
        token = self._next()
        if token[0] == "{":
            return self._object(token.start())
        if token[0] == "[":
            return self._array(token.start())
        return _Node(self._scalar(token), token.start(), token.end())

    def _object(self, start: int) -> _Node:
        members: dict[str, _ObjectMember] = {}
        while not self._accept("}"):
            token = self._next()
            key = self._scalar(token)
            if not isinstance(key, str) or not self._accept(":"):
                self.position -= 1
                raise self._error()
            node = self._value()
            members[key] = _ObjectMember(token.start(), node, self._comma("}"))
        value = {key: member.node.value for key, member in members.items()}
        return _Node(value, start, self.tokens[self.position - 1].end(), members)

    def _array(self, start: int) -> _Node:
        items = []
        while not self._accept("]"):
            items.append(self._value().value)
            self._comma("]")
        return _Node(items, start, self.tokens[self.position - 1].end())

    def _comma(self, close: str) -> int | None:
        """Return the position of the comma after an item. Only the last item needs none."""
        if self._accept(","):
            return self.tokens[self.position - 1].start()
        if self.position >= len(self.tokens) or self.tokens[self.position][0] != close:
            raise self._error()
        return None

    def _scalar(self, token: re.Match[str]) -> Any:
        try:
            return json.loads(token[0], strict=False)
        except ValueError:
            self.position -= 1
            raise self._error() from None

    def _accept(self, text: str) -> bool:
        is_next = self.position < len(self.tokens) and self.tokens[self.position][0] == text
        self.position += is_next
        return is_next

    def _next(self) -> re.Match[str]:
        if self.position >= len(self.tokens):
            raise self._error()
        self.position += 1
        return self.tokens[self.position - 1]

    def _error(self) -> ValueError:
        if self.position >= len(self.tokens):
            return ValueError("unexpected end of the file")
        token = self.tokens[self.position]
        line = self.text.count("\n", 0, token.start()) + 1
        return ValueError(f"line {line}: unexpected {token[0][:20]!r}")


def _parse(text: str) -> _Node:
    if not text.removeprefix(BOM).strip():
        text = "{}"
    try:
        return _JsoncParser(text).parse()
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _insert(text: str, root: _Node, node: _Node, key: str, value: Any) -> str:
    """Insert a member at the start of an object, so that no other line changes."""
    at, name = node.start + 1, f"{json.dumps(key)}: "
    members = node.members or {}
    first = next(iter(members.values()), None)
    end = _line_end(text)
    if first is not None and "\n" not in text[at : first.start]:
        return f"{text[:at]}{name}{json.dumps(value, ensure_ascii=False)}, {text[at:]}"
    outer = _indent_at(text, node.start)
    indent = outer + _indent_unit(text, root) if first is None else _indent_at(text, first.start)
    added = f"{end}{indent}{name}{_dump(text, root, value, indent)}{',' if members else ''}"
    closing = end + outer if first is None and not text[at : node.end - 1].strip() else ""
    rest = text[node.end - 1 :] if closing else text[at:]
    return text[:at] + added + closing + rest


def _dump(text: str, root: _Node, value: Any, indent: str) -> str:
    """Format a value with the indentation and the line ends of the text."""
    if "\n" not in text[root.start : root.end] and root.members:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, indent=_indent_unit(text, root), ensure_ascii=False).split("\n")
    return (_line_end(text) + indent).join(lines)


def _indent_unit(text: str, root: _Node) -> str:
    first = next(iter((root.members or {}).values()), None)
    return (first and _indent_at(text, first.start)) or DEFAULT_INDENT


def _indent_at(text: str, position: int) -> str:
    """Return the white space at the start of the line of a position."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _replace_value(data: Mapping[str, Any], path: Sequence[str], value: Any, *, remove: bool = False) -> Any:
    key, *rest = path
    if rest:
        return {**data, key: _replace_value(data[key], rest, value, remove=remove)}
    others = {name: item for name, item in data.items() if name != key}
    return others if remove else {**data, key: value}


def _verify(text: str, expected: Any) -> str:
    if parse_jsonc(text) != expected:
        raise ValueError("it uses a style that cannot be edited automatically. Edit it manually")
    return text
