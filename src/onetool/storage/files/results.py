"""Stored results in files: the text or the bytes, and a metadata file that outlives them."""

import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import orjson

from onetool.domain.content.media import Media
from onetool.domain.results.stored_result import (
    DEFAULT_TTL_S,
    HANDLE,
    METADATA_RETENTION_S,
    StoredResult,
    create_stored_media,
    create_stored_result,
    oldest_media,
)
from onetool.files.atomic import write_atomic
from onetool.threads import Threads

from .on_thread import on_thread

MEDIA_SUFFIX = ".bin"
SWEEP_INTERVAL_S = 60.0
"""Minimum time between two listings of the directory."""
SWEEP_SIZE = 50
"""How many results one `put` checks for expiry, so that none waits for thousands of files."""


MEASURE_BYTES = 64 * 2**20
"""Bytes of new media after which all media are measured before SWEEP_INTERVAL_S has passed."""


class FileResults:
    """Stores each result as a file with its content and a metadata file. Safe for several processes."""

    def __init__(self, folder: Path, threads: Threads, now: Callable[[], float] = time.time) -> None:
        self._folder, self._threads, self._now = folder, threads, now
        self._listed_at = 0.0
        self._unchecked: list[str] = []
        self._measured_at = 0.0
        self._stored_bytes = 0
        """Bytes of media since the last time that all media were measured."""
        self._sweep_lock = threading.Lock()

    @on_thread
    def put(self, text: str, tool: str, ttl_s: float = DEFAULT_TTL_S) -> StoredResult:
        """Store a text. Durable on return."""
        self._sweep()
        stored = create_stored_result(text, tool, self._now(), ttl_s)
        write_atomic(self._text_file(stored.handle), text.encode("utf-8", "surrogatepass"))
        self._write_metadata(stored)
        return stored

    @on_thread
    def put_media(self, media: Media, tool: str, ttl_s: float = DEFAULT_TTL_S) -> StoredResult:
        """Store media. Durable on return."""
        self._sweep()
        handle, now = media.handle, self._now()
        if (stored := self._find(handle)) and stored.expires_at > now and self._media_file(handle).exists():
            return stored
        data = media.to_bytes()
        stored = create_stored_media(handle, data, media.mime_type, tool, (now, now + ttl_s))
        write_atomic(self._media_file(handle), data)
        os.utime(self._media_file(handle), (now, now))
        self._write_metadata(stored)
        self._delete_oldest(len(data))
        return stored

    @on_thread
    def media(self, handle: str) -> Media | None:
        """Return media, or None if they have expired."""
        stored = self._find(handle)
        if stored is None or not stored.mime_type or stored.expires_at <= self._now():
            return None
        try:
            return Media.stored(handle, self._media_file(handle).read_bytes(), stored.mime_type)
        except (OSError, ValueError):
            return None

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

    def _write_metadata(self, stored: StoredResult) -> None:
        """Write the metadata, after the content: a handle never exists without it."""
        fields = {key: value for key, value in stored._asdict().items() if value != ""}
        write_atomic(self._metadata_file(stored.handle), orjson.dumps(fields, option=orjson.OPT_INDENT_2))

    def _delete_oldest(self, size: int) -> None:
        """Delete the oldest media if there are too many. Measures them from time to time."""
        now = self._now()
        self._stored_bytes += size
        if self._stored_bytes < MEASURE_BYTES and 0 <= now - self._measured_at < SWEEP_INTERVAL_S:
            return
        self._measured_at, self._stored_bytes = now, 0
        files = list[tuple[float, int, str]]()
        with os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.endswith(MEDIA_SUFFIX):
                    with suppress(FileNotFoundError):  # another process deleted it
                        status = entry.stat()
                        files.append((status.st_mtime, status.st_size, entry.name))
        for name in oldest_media(files, now):
            (self._folder / name).unlink(missing_ok=True)

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
            if not self._unchecked and not 0 <= self._now() - self._listed_at < SWEEP_INTERVAL_S:
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
        content = self._media_file(handle) if stored.mime_type else self._text_file(handle)
        content.unlink(missing_ok=True)
        if stored.expires_at + METADATA_RETENTION_S < now:
            with suppress(OSError):
                self._metadata_file(handle).unlink()

    def _text_file(self, handle: str) -> Path:
        return self._folder / f"{handle}.txt"

    def _media_file(self, handle: str) -> Path:
        return self._folder / f"{handle}{MEDIA_SUFFIX}"

    def _metadata_file(self, handle: str) -> Path:
        return self._folder / f"{handle}.json"
