"""Log entries about one MCP server."""

import json
from collections.abc import Iterator
from pathlib import Path

from onetool.domain.text.json_text import encode
from onetool.files.tail import read_tail

MAX_TAIL_BYTES = 4 * 2**20
"""Bytes at the end of each log file that are searched."""


def read_log(file: Path, logger: str, limit: int) -> list[dict[str, str]]:
    """Return the last entries of a logger, oldest first. Includes the last rotated file."""
    content = b"".join(read_tail(path, MAX_TAIL_BYTES) for path in (file.with_suffix(".1.jsonl"), file))
    return list(_parse_lines(content, logger))[-limit:]


def _parse_lines(content: bytes, logger: str) -> Iterator[dict[str, str]]:
    encoded_name = encode(logger)
    for line in content.splitlines():
        if encoded_name not in line:
            continue
        try:
            entry = json.loads(line)
        except ValueError:  # incomplete line after a crash
            continue
        if isinstance(entry, dict) and entry.get("logger") == logger:
            yield {key: str(entry.get(key, "")) for key in ("at", "level", "message")}
