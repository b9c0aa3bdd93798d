"""Sessions of MCP clients in files.

client_sessions/SESSION/NAME    the text of an entry
"""

import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from pathlib import Path

from onetool.files.atomic import write_atomic
from onetool.files.fingerprint import fingerprint
from onetool.ports.client_sessions import ENTRY_NAME, SESSION_ID, check_entry
from onetool.threads import Threads

from .on_thread import on_thread

SETTLED_NS = 100_000_000
"""Nanoseconds after which another write changes the time of a directory, whatever the file system."""


class FileClientSessions:
    """Stores the entries of each session as files in a directory."""

    def __init__(self, folder: Path, threads: Threads, now: Callable[[], int] = time.time_ns) -> None:
        self._folder, self._threads, self._now = folder, threads, now

    def generation(self, session: str) -> Hashable:
        """Return the fingerprint of the directory, or the time for as long as it may not show a write."""
        found = fingerprint(f"{self._folder}/{session}")
        now = self._now()
        return found if found is None or abs(now - found[0]) > SETTLED_NS else now

    @on_thread
    def read(self, session: str) -> Mapping[str, str]:
        """Return the entries of a session by name. Other files are ignored."""
        entries = {}
        with suppress(FileNotFoundError):
            for file in (self._folder / session).iterdir():
                if ENTRY_NAME.fullmatch(file.name):
                    with suppress(FileNotFoundError, UnicodeDecodeError):
                        entries[file.name] = file.read_text("utf-8")
        return entries

    @on_thread
    def put(self, session: str, name: str, text: str) -> None:
        """Create or replace an entry. Durable on return."""
        check_entry(session, name)
        write_atomic(self._folder / session / name, text.encode())

    @on_thread
    def remove(self, session: str, name: str) -> None:
        """Remove an entry."""
        check_entry(session, name)
        (self._folder / session / name).unlink(missing_ok=True)

    @on_thread
    def reap(self, before: float) -> None:
        """Delete the directories of old sessions."""
        with suppress(FileNotFoundError):
            for folder in self._folder.iterdir():
                with suppress(FileNotFoundError):
                    if SESSION_ID.fullmatch(folder.name) and folder.stat().st_mtime < before:
                        _delete(folder)

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""


def _delete(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink(missing_ok=True)
    folder.rmdir()
