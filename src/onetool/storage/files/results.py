"""Stored results in files: the text, and a metadata file that outlives it."""

import os
import random
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import orjson

from onetool.domain.results.stored_result import DEFAULT_TTL_S, StoredResult, create_stored_result
from onetool.files.atomic import write_atomic
from onetool.threads import Threads

from .on_thread import on_thread

HANDLE = re.compile(r"[0-9a-f]{12}")
METADATA_RETENTION_S = 7 * 86_400.0
"""How long after expiry a handle is still reported as expired instead of unknown."""
SWEEP_INTERVAL_S = 60.0
"""Minimum time between two listings of the directory."""
SWEEP_SIZE = 50
"""How many results one `put` checks for expiry, so that none waits for thousands of files."""


class FileResults:
    """Stores each result as a text file and a metadata file. Safe for several processes."""

    def __init__(self, folder: Path, threads: Threads, now: Callable[[], float] = time.time) -> None:
        self._folder, self._threads, self._now = folder, threads, now
        self._listed_at = 0.0
        self._unchecked: list[str] = []
        self._sweep_lock = threading.Lock()

    @on_thread
    def put(self, text: str, tool: str, ttl_s: float = DEFAULT_TTL_S) -> StoredResult:
        """Store a text. Durable on return."""
        self._sweep()
        stored = create_stored_result(text, tool, self._now(), ttl_s)
        write_atomic(self._text_file(stored.handle), text.encode("utf-8", "surrogatepass"))
        # The metadata comes last: a handle never exists without its text.
        write_atomic(
            self._metadata_file(stored.handle), orjson.dumps(stored._asdict(), option=orjson.OPT_INDENT_2)
        )
        return stored

    @on_thread
    def find(self, handle: str) -> StoredResult | None:
        """Return the metadata of a handle. A corrupt file counts as an unknown handle."""
        return self._find(handle)

    @on_thread
    def text(self, handle: str) -> str | None:
        """Return the text, or None if it has expired."""
        stored = self._find(handle)
        if stored is None or stored.expires_at <= self._now():
            return None
        try:
            return self._text_file(handle).read_bytes().decode("utf-8", "surrogatepass")
        except OSError:
            return None

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def _find(self, handle: str) -> StoredResult | None:
        if not HANDLE.fullmatch(handle):
            return None
        try:
            return StoredResult(**orjson.loads(self._metadata_file(handle).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def _sweep(self) -> None:
        """Delete expired texts, and their metadata after METADATA_RETENTION_S, some at a time."""
        with self._sweep_lock:
            if not self._unchecked and self._now() - self._listed_at >= SWEEP_INTERVAL_S:
                self._listed_at = self._now()
                self._unchecked = self._handles()
            batch = self._unchecked[-SWEEP_SIZE:]
            del self._unchecked[-SWEEP_SIZE:]
        for handle in batch:
            self._remove_expired(handle)

    def _handles(self) -> list[str]:
        """Return all handles in random order, because a process may store only one result."""
        try:
            with os.scandir(self._folder) as entries:
                stems = [entry.name.removesuffix(".json") for entry in entries]
        except FileNotFoundError:
            return []
        handles = [stem for stem in stems if HANDLE.fullmatch(stem)]
        random.shuffle(handles)
        return handles

    def _remove_expired(self, handle: str) -> None:
        stored, now = self._find(handle), self._now()
        if stored is None or stored.expires_at > now:
            return
        self._text_file(handle).unlink(missing_ok=True)
        if stored.expires_at + METADATA_RETENTION_S < now:
            with suppress(OSError):
                self._metadata_file(handle).unlink()

    def _text_file(self, handle: str) -> Path:
        return self._folder / f"{handle}.txt"

    def _metadata_file(self, handle: str) -> Path:
        return self._folder / f"{handle}.json"
