"""The value of a YAML file and the line of each of its keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KeyPath = tuple[Any, ...]
"""The keys and list indexes that lead to a value."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A parsed YAML file."""

    file: Path
    value: Any
    lines: Mapping[KeyPath, int]

    def location(self, path: KeyPath) -> str:
        """Return `file:line` of a key, or of the closest enclosing key that has a line."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.file}:{self.lines.get(path, 1)}"
