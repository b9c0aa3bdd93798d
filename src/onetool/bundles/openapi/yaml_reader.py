"""A reader of untrusted YAML that returns JSON values and allows larger documents than settings files."""

import re
from typing import Any

import yaml

from onetool.domain.bundles.bundle import InvalidBundle
from onetool.domain.text.json_text import jsonable
from onetool.domain.text.strings import truncate_middle

MAX_DEPTH = 100
MAX_EXPANDED = 32 * 2**20
"""Bytes after aliases are expanded, because aliases can make a small file very large."""
NODE_SIZE = 8
"""Bytes that each value counts in addition to its text."""
PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
BOOL_TAG, TIMESTAMP_TAG = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
TRUE_OR_FALSE = re.compile(r"(true|True|TRUE|false|False|FALSE)$")


class _Loader(yaml.CSafeLoader):
    """Reads dates, `on`, `off`, `yes` and `no` as text."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, TRUE_OR_FALSE if tag == BOOL_TAG else regexp) for tag, regexp in rules if tag != TIMESTAMP_TAG
    ]
    for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(content: bytes) -> Any:
    """Read one YAML document.

    Raises:
        InvalidBundle: The document is malformed or exceeds a limit.
    """
    try:
        text = content.decode()
        _YamlLimits().check(text)
        return jsonable(yaml.load(text, _Loader))  # noqa: S506 - a safe loader with fewer types
    except UnicodeDecodeError as error:
        raise InvalidBundle(f"The document is not UTF-8 text (byte {error.start}).") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        location = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise InvalidBundle(f"The document is not YAML: {truncate_middle(problem, 200)}{location}.") from None
    except InvalidBundle:
        raise
    except ValueError as error:  # text that resembles a number but is none, such as 0x_
        raise InvalidBundle(
            f"The document contains an invalid value: {truncate_middle(str(error), 200)}."
        ) from None


class _YamlLimits:
    """Checks the parser events for nesting, size, aliases and tags, before any value is built."""

    def __init__(self) -> None:
        self._anchor_sizes: dict[str, int] = {}
        """Sizes of complete anchored values. An alias to an incomplete one would be recursive."""
        self._open: list[tuple[str | None, int]] = []
        """Anchor of each open collection, and the size before it."""
        self._size = 0

    def check(self, text: str) -> None:
        for event in yaml.parse(text, yaml.CSafeLoader):
            problem = self._check_event(event)
            if problem:
                raise InvalidBundle(f"The document has {problem} (line {event.start_mark.line + 1}).")

    def _check_event(self, event: Any) -> str:
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size_before = self._open.pop()
            self._record_anchor(anchor, size_before)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchor_sizes:
                return "an alias without an anchor"
            self._size += self._anchor_sizes[event.anchor]
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            if event.tag not in PLAIN_TAGS:
                return "an unknown tag"
            self._start_value(event)
        if len(self._open) > MAX_DEPTH:
            return f"more than {MAX_DEPTH} levels"
        return f"more than {MAX_EXPANDED} bytes with its aliases" if self._size > MAX_EXPANDED else ""

    def _start_value(self, event: Any) -> None:
        size_before = self._size
        self._size += NODE_SIZE + len(getattr(event, "value", ""))
        if isinstance(event, yaml.CollectionStartEvent):
            self._anchor_sizes.pop(event.anchor or "", None)
            self._open.append((event.anchor, size_before))
        else:
            self._record_anchor(event.anchor, size_before)

    def _record_anchor(self, anchor: str | None, size_before: int) -> None:
        if anchor:
            self._anchor_sizes[anchor] = self._size - size_before
