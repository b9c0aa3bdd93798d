"""What the log says about one server."""

import json
from collections.abc import Iterator
from pathlib import Path

from onetool.domain.json_text import encode
from onetool.files.tail import read_tail

LOOKED_THROUGH = 4 * 2**20
"""Bytes at the end of each file in which lines are looked for."""


def read_log(file: Path, logger: str, limit: int) -> list[dict[str, str]]:
    """Return the last lines of a logger, the newest at the end; what was rotated away once counts too."""
    content = b"".join(read_tail(path, LOOKED_THROUGH) for path in (file.with_suffix(".1.jsonl"), file))
    return list(_lines(content, logger))[-limit:]


def _lines(content: bytes, logger: str) -> Iterator[dict[str, str]]:
    mark = encode(logger)
    for line in content.splitlines():
        if mark not in line:
            continue
        try:
            said = json.loads(line)
        except ValueError:  # torn by a crash
            continue
        if isinstance(said, dict) and said.get("logger") == logger:
            yield {key: str(said.get(key, "")) for key in ("at", "level", "message")}
