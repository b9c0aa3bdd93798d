"""The last answers of the registry, for use without a connection."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from onetool.files.atomic import write_atomic

MAX_FILES = 200


class CachedAnswer(NamedTuple):
    """A stored answer and the time of its download, in seconds since the epoch."""

    fetched_at: float
    body: Any


class AnswerCache:
    """Answers by URL, one JSON file each. The oldest files are deleted."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, url: str) -> CachedAnswer | None:
        """Return the stored answer; None if there is none or it cannot be read."""
        try:
            data = json.loads(self._file(url).read_bytes())
            return CachedAnswer(float(data["fetchedAt"]), data["body"]) if data["url"] == url else None
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None

    def write(self, url: str, body: Any, now: float) -> None:
        """Store an answer. A cache that cannot be written stays as it is."""
        content = json.dumps({"url": url, "fetchedAt": now, "body": body}).encode()
        try:
            write_atomic(self._file(url), content, durable=False)
            self._prune()
        except OSError:
            return

    def _prune(self) -> None:
        files = sorted(self._directory.glob("*.json"), key=lambda file: file.stat().st_mtime)
        for file in files[: max(len(files) - MAX_FILES, 0)]:
            file.unlink(missing_ok=True)

    def _file(self, url: str) -> Path:
        return self._directory / f"{sha256(url.encode()).hexdigest()}.json"
