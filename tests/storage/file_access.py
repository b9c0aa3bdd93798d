"""Counts of files opened and directories listed, to show that work is bounded."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

EVENTS = {"open": "open", "os.scandir": "list", "os.listdir": "list"}
"""Audit events of the interpreter, and what they are counted as."""
_active: list[tuple[str, Counter[str]]] = []


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not _active or event not in EVENTS or not isinstance(args[0], str | Path):
        return
    path = os.fspath(args[0])
    for root, counts in _active:
        if path.startswith(root):
            counts[EVENTS[event]] += 1


sys.addaudithook(_audit)


@contextmanager
def counted_access(root: Path) -> Iterator[Counter[str]]:
    """Count what this process does below a directory: `open` files and `list` directories."""
    entry = str(root), Counter[str]()
    _active.append(entry)
    try:
        yield entry[1]
    finally:
        _active.remove(entry)
