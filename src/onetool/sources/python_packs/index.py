"""What is known of pack files, kept between processes: a file is looked into once, not at every start."""

import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from onetool.domain.json_text import encode
from onetool.files.atomic import write_atomic
from onetool.version import __version__

from .description import TOOL_KEYS

log = logging.getLogger(__name__)

RETRY_AFTER = 60.0
"""Seconds after which a file that could not be imported is tried again: its library may be there by now."""


class PackIndex:
    """Answers of the inspector by file and content; derived, and rebuilt when it is damaged."""

    def __init__(self, file: Path | None, now: Callable[[], float] = time.time) -> None:
        self._file, self._now = file, now
        self._made_by = f"{__version__} {sys.version_info[:2]}"
        self._entries = self._load()
        self._changed = False

    def get(self, path: str, digest: str) -> dict[str, Any] | None:
        """Return the answer for this content of this file, unless it is a failure grown old."""
        entry = self._entries.get(path)
        if (
            not isinstance(entry, dict)
            or entry.get("digest") != digest
            or not entry.keys() >= {"at", "answer"}
        ):
            return None
        answer = entry["answer"]
        if not isinstance(answer, dict):
            return None
        if "error" in answer:
            return answer if self._now() - entry["at"] < RETRY_AFTER else None
        return answer if _is_whole(answer) else None

    def put(self, path: str, digest: str, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        self._entries[path] = {"digest": digest, "at": self._now(), "answer": answer}
        self._changed = True

    def save(self) -> None:
        """Write the index if it has changed; files that are gone are forgotten."""
        if self._changed and self._file is not None:
            kept = {path: entry for path, entry in self._entries.items() if Path(path).exists()}
            try:
                write_atomic(self._file, encode({"made_by": self._made_by, "files": kept}))
            except (OSError, ValueError) as error:
                log.warning("what is known of pack files could not be kept: %s", error)
        self._changed = False

    def _load(self) -> dict[str, Any]:
        try:
            content = orjson.loads(self._file.read_bytes()) if self._file else {}
            files = content["files"] if content.get("made_by") == self._made_by else {}
            return dict(files)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}


def _is_whole(answer: dict[str, Any]) -> bool:
    described = answer.get("description")
    if not isinstance(described, dict) or described.keys() != {"pack", "tools", "refused"}:
        return False
    return all(isinstance(tool, dict) and tool.keys() == TOOL_KEYS for tool in described["tools"])
