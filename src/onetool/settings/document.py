"""A settings file as read: its value, and the line on which each key stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KeyPath = tuple[Any, ...]
"""The keys and list positions that lead to a value."""


@dataclass(frozen=True, slots=True)
class Document:
    """The value of a file, and the line of each key path."""

    file: Path
    value: Any
    lines: Mapping[KeyPath, int]

    def place(self, path: KeyPath) -> str:
        """`file:line` of a key, or of the nearest key around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.file}:{self.lines.get(path, 1)}"
