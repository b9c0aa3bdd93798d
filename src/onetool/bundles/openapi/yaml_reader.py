"""YAML whose author may be hostile, as JSON values; larger documents than a settings file are expected."""

import re
from typing import Any

import yaml

from onetool.domain.bundle import InvalidBundle
from onetool.domain.json_text import jsonable
from onetool.domain.texts import cut

MAX_DEPTH = 100
MAX_EXPANDED = 32 * 2**20
"""Bytes after aliases are expanded, which is what makes a small file large."""
NODE = 8
"""Bytes that a value counts besides its text."""
PLAIN_TAGS = (None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
BOOL, TIME = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
TRUE_OR_FALSE = re.compile(r"(true|True|TRUE|false|False|FALSE)$")


class _Loader(yaml.CSafeLoader):
    """Dates are texts here, and so are `on`, `off`, `yes` and `no`."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, TRUE_OR_FALSE if tag == BOOL else found) for tag, found in rules if tag != TIME]
    for first, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(content: bytes) -> Any:
    """Read one YAML document.

    Raises InvalidBundle.
    """
    try:
        text = content.decode()
        _Guard().check(text)
        return jsonable(yaml.load(text, _Loader))  # noqa: S506 - a safe loader with fewer types
    except UnicodeDecodeError as error:
        raise InvalidBundle(f"The document is not UTF-8 text (byte {error.start}).") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise InvalidBundle(f"The document is not YAML: {cut(problem, 200)}{where}.") from None
    except InvalidBundle:
        raise
    except ValueError as error:  # looks like a number and is none, such as 0x_
        raise InvalidBundle(
            f"The document holds a value that cannot be read: {cut(str(error), 200)}."
        ) from None


class _Guard:
    """Sees every event before anything is built: nesting, values, aliases that multiply, tags."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        """Of what has an anchor, once it is whole: nothing may hold itself."""
        self._open: list[tuple[str | None, int]] = []
        self._size = 0

    def check(self, text: str) -> None:
        for event in yaml.parse(text, yaml.CSafeLoader):
            problem = self._take(event)
            if problem:
                raise InvalidBundle(f"The document has {problem} (line {event.start_mark.line + 1}).")

    def _take(self, event: Any) -> str:
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self._open.pop()
            self._remember(anchor, before)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._sizes:
                return "an alias without its anchor"
            self._size += self._sizes[event.anchor]
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            if event.tag not in PLAIN_TAGS:
                return "a tag that is not known"
            self._start(event)
        if len(self._open) > MAX_DEPTH:
            return f"more than {MAX_DEPTH} levels"
        return f"more than {MAX_EXPANDED} bytes with its aliases" if self._size > MAX_EXPANDED else ""

    def _start(self, event: Any) -> None:
        before = self._size
        self._size += NODE + len(getattr(event, "value", ""))
        if isinstance(event, yaml.CollectionStartEvent):
            self._sizes.pop(event.anchor or "", None)
            self._open.append((event.anchor, before))
        else:
            self._remember(event.anchor, before)

    def _remember(self, anchor: str | None, before: int) -> None:
        if anchor:
            self._sizes[anchor] = self._size - before
