"""A cache of pack descriptions on disk: each file is inspected once, not at every start."""

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import orjson

from onetool.domain.text.json_text import encode
from onetool.files.atomic import write_atomic
from onetool.version import __version__

from .description import TOOL_KEYS, PackDescription
from .environments import NO_UV

log = logging.getLogger(__name__)

RETRY_AFTER_S = 60.0
"""Seconds after which a failed import is retried. It may have taken long, so not every start retries it."""
MISSING_LIBRARY_RETRY_S = 3.0
"""The same for a missing library, which fails fast, and which the user may install at once."""
FORMAT = 2
"""Number of the way in which files are described. An index with another one is discarded."""
PACK_KEYS = {field.name for field in fields(PackDescription)}


class PackIndex:
    """Inspection results by file and content. Invalid entries are discarded."""

    def __init__(self, file: Path | None, now: Callable[[], float] = time.time) -> None:
        self._file, self._now = file, now
        self._version = f"{__version__} {sys.version_info[:2]} {FORMAT}"
        self._entries = self._load()
        self._has_changed = False
        self._reasons: dict[str, str] = {}

    def is_new_reason(self, path: str, reason: str) -> bool:
        """Return whether this process has not reported this reason for a file."""
        is_new = self._reasons.get(path) != reason
        self._reasons[path] = reason
        return is_new

    def get(self, path: str, digest: str) -> dict[str, Any] | None:
        """Return the result for this content of a file; None if there is none or it should be retried."""
        entry = self._entries.get(path)
        if (
            not isinstance(entry, dict)
            or entry.get("digest") != digest
            or not entry.keys() >= {"time", "result"}
        ):
            return None
        result = entry["result"]
        if not isinstance(result, dict):
            return None
        if "error" in result:
            is_missing = str(result["error"]).startswith((ModuleNotFoundError.__name__, NO_UV))
            retry_after_s = MISSING_LIBRARY_RETRY_S if is_missing else RETRY_AFTER_S
            return result if 0 <= self._now() - entry["time"] < retry_after_s else None
        return result if _is_complete(result) else None

    def put(self, path: str, digest: str, result: dict[str, Any]) -> None:
        """Store a result."""
        self._entries[path] = {"digest": digest, "time": self._now(), "result": result}
        self._has_changed = True

    def save(self) -> None:
        """Write the index if it changed, without the entries of deleted files."""
        if self._has_changed and self._file is not None:
            entries = {path: entry for path, entry in self._entries.items() if Path(path).exists()}
            try:
                write_atomic(self._file, encode({"version": self._version, "files": entries}))
            except (OSError, ValueError) as error:
                log.warning("pack index not saved: %s", error)
        self._has_changed = False

    def _load(self) -> dict[str, Any]:
        try:
            content = orjson.loads(self._file.read_bytes()) if self._file else {}
            files = content["files"] if content.get("version") == self._version else {}
            return dict(files)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}


def _is_complete(result: dict[str, Any]) -> bool:
    description = result.get("description")
    if not isinstance(description, dict) or description.keys() != PACK_KEYS:
        return False
    return all(isinstance(tool, dict) and tool.keys() == TOOL_KEYS for tool in description["tools"])
