"""Stored results in files: the text or the bytes, and a metadata file that outlives them.

results/HANDLE.*                    results of the user without a profile, and those of earlier versions
results/owners/DIGEST/HANDLE.*      results of another owner
"""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import orjson

from onetool.domain.content.media import Media
from onetool.domain.identity.principal import LOCAL, may_read
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

METADATA_SUFFIX, TEXT_SUFFIX, MEDIA_SUFFIX = ".json", ".txt", ".bin"
OWNERS = "owners"
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
        self._unchecked: list[Path] = []
        self._measured_at = 0.0
        self._stored_bytes = 0
        """Bytes of media since the last time that all media were measured."""
        self._sweep_lock = threading.Lock()

    @on_thread
    def put(
        self, text: str, tool: str, ttl_s: float = DEFAULT_TTL_S, *, owner: str, value: str = ""
    ) -> StoredResult:
        """Store a text. Durable on return."""
        self._sweep()
        now = self._now()
        stored = create_stored_result(text, tool, owner, (now, now + ttl_s), value)
        write_atomic(self._content_file(stored), text.encode("utf-8", "surrogatepass"))
        self._write_metadata(stored)
        return stored

    @on_thread
    def put_media(self, media: Media, tool: str, ttl_s: float = DEFAULT_TTL_S, *, owner: str) -> StoredResult:
        """Store media. Durable on return."""
        self._sweep()
        now, found = self._now(), _read(self._owner_folder(owner), media.handle)
        if found and found.expires_at > now and self._content_file(found).exists():
            return found
        data = media.to_bytes()
        stored = create_stored_media(media, data, tool, owner, (now, now + ttl_s))
        write_atomic(self._content_file(stored), data)
        os.utime(self._content_file(stored), (now, now))
        self._write_metadata(stored)
        self._delete_oldest(len(data))
        return stored

    @on_thread
    def media(self, handle: str, *, reader: str) -> Media | None:
        """Return media, or None if they have expired."""
        stored = self._find(handle, reader)
        if stored is None or not stored.mime_type or stored.expires_at <= self._now():
            return None
        try:
            return Media.stored(handle, self._content_file(stored).read_bytes(), stored.mime_type)
        except (OSError, ValueError):
            return None

    @on_thread
    def find(self, handle: str, *, reader: str) -> StoredResult | None:
        """Return the metadata of a handle. A corrupt file counts as an unknown handle."""
        return self._find(handle, reader)

    @on_thread
    def text(self, handle: str, *, reader: str) -> str | None:
        """Return the text, or None if it has expired."""
        stored = self._find(handle, reader)
        if stored is None or stored.mime_type or stored.expires_at <= self._now():
            return None
        try:
            return self._content_file(stored).read_bytes().decode("utf-8", "surrogatepass")
        except OSError:
            return None

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def _write_metadata(self, stored: StoredResult) -> None:
        """Write the metadata, after the content: a handle never exists without it."""
        fields = {key: value for key, value in stored._asdict().items() if value != ""}
        file = _metadata_file(self._owner_folder(stored.owner), stored.handle)
        write_atomic(file, orjson.dumps(fields, option=orjson.OPT_INDENT_2))

    def _delete_oldest(self, size: int) -> None:
        """Delete the oldest media if there are too many. Measures them from time to time."""
        now = self._now()
        self._stored_bytes += size
        if self._stored_bytes < MEASURE_BYTES and 0 <= now - self._measured_at < SWEEP_INTERVAL_S:
            return
        self._measured_at, self._stored_bytes = now, 0
        files = list[tuple[float, int, str]]()
        for entry in self._entries():
            if entry.name.endswith(MEDIA_SUFFIX):
                with suppress(FileNotFoundError):  # another process deleted it
                    status = entry.stat()
                    files.append((status.st_mtime, status.st_size, entry.path))
        for path in oldest_media(files, now):
            Path(path).unlink(missing_ok=True)

    def _find(self, handle: str, reader: str) -> StoredResult | None:
        if not HANDLE.fullmatch(handle):
            return None
        own = self._owner_folder(reader)
        found = _read(own, handle)
        if found is None:
            others = (_read(folder, handle) for folder in self._folders() if folder != own)
            found = next((stored for stored in others if stored and may_read(reader, stored.owner)), None)
        return found if found and may_read(reader, found.owner) else None

    def _owner_folder(self, owner: str) -> Path:
        if owner == LOCAL.scope:
            return self._folder
        name = sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._folder / OWNERS / name

    def _folders(self) -> list[Path]:
        """Return the folders of all owners."""
        with suppress(FileNotFoundError), os.scandir(self._folder / OWNERS) as entries:
            return [self._folder, *(Path(entry.path) for entry in entries)]
        return [self._folder]

    def _entries(self) -> Iterator["os.DirEntry[str]"]:
        """Yield the files of all owners."""
        for folder in self._folders():
            with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
                yield from entries

    def _sweep(self) -> None:
        """Delete expired texts, and their metadata after METADATA_RETENTION_S, some at a time."""
        with self._sweep_lock:
            if not self._unchecked and not 0 <= self._now() - self._listed_at < SWEEP_INTERVAL_S:
                self._listed_at = self._now()
                self._unchecked = self._metadata_files()
            batch = self._unchecked[-SWEEP_SIZE:]
            del self._unchecked[-SWEEP_SIZE:]
        for file in batch:
            self._remove_expired(file)

    def _metadata_files(self) -> list[Path]:
        """Return all files with metadata in random order, because a process may store only one result."""
        files = [
            Path(entry.path)
            for entry in self._entries()
            if HANDLE.fullmatch(entry.name.removesuffix(METADATA_SUFFIX))
        ]
        random.shuffle(files)
        return files

    def _remove_expired(self, file: Path) -> None:
        stored, now = _read(file.parent, file.stem), self._now()
        if stored is None or stored.expires_at > now:
            return
        self._content_file(stored).unlink(missing_ok=True)
        if stored.expires_at + METADATA_RETENTION_S < now:
            with suppress(OSError):
                file.unlink()

    def _content_file(self, stored: StoredResult) -> Path:
        suffix = MEDIA_SUFFIX if stored.mime_type else TEXT_SUFFIX
        return self._owner_folder(stored.owner) / f"{stored.handle}{suffix}"


def _metadata_file(folder: Path, handle: str) -> Path:
    return folder / f"{handle}{METADATA_SUFFIX}"


def _read(folder: Path, handle: str) -> StoredResult | None:
    """Return the metadata of a handle. A corrupt file counts as an unknown handle."""
    try:
        stored = StoredResult(**orjson.loads(_metadata_file(folder, handle).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return stored if stored.handle == handle else None
