"""The servers of the compatibility page."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_suffix(".yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedServer:
    """A server to try: how it is added, and one call."""

    package: str
    command: tuple[str, ...]
    call: str
    args: Mapping[str, Any]
    options: tuple[str, ...] = ()
    node: int | None = None
    needs: str = ""
    """What a result of the call requires, besides this machine."""


def load_servers() -> list[ListedServer]:
    """Return the servers to try."""
    entries = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return [
        ListedServer(**entry | {key: tuple(entry.get(key, ())) for key in ("command", "options")})
        for entry in entries
    ]
