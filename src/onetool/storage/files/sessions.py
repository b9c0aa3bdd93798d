"""Sessions in files, one JSON Lines file per session, with a SQLite index."""

import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from onetool.domain.chat.transcript import (
    SESSION_NAME,
    Record,
    SessionSummary,
    check_session_name,
    replay,
    to_line,
)
from onetool.domain.page import Page
from onetool.files.append import append_lines
from onetool.files.atomic import make_private_dir
from onetool.files.fingerprint import fingerprint
from onetool.threads import Threads

from .on_thread import on_thread
from .session_index import UNREAD, SessionIndex, SessionRow

log = logging.getLogger(__name__)
SUFFIX = ".jsonl"
INDEX = ".index/sessions.sqlite3"
"""In a directory of its own, because its files come and go and the sessions' directory is watched."""
LAST_PLACE = (float("inf"), "")


class FileSessions:
    """Stores the records of a session in `name.jsonl`. Skips lines that are incomplete or not records."""

    def __init__(self, folder: Path, threads: Threads) -> None:
        self._folder, self._threads = folder, threads
        self._index = SessionIndex(folder / INDEX)

    @on_thread
    def append(self, session: str, records: Sequence[Record]) -> None:
        """Append records to a session. Durable on return."""
        file, before = self._file(session), self._stamp()
        lines = b"".join(map(to_line, records))
        append_lines(file, lines, is_torn=lambda last: _parse_record(last) is None)
        row = SessionRow(session, file.stat().st_mtime, UNREAD)
        self._update_index(row, (), before)

    @on_thread
    def read(self, session: str) -> Sequence[Record]:
        """Return all records of a session."""
        return list(self._records(self._file(session)))

    @on_thread
    def page(self, cursor: str | None, limit: int) -> Page[SessionSummary]:
        """Return sessions, most recently changed first. Reads only those that changed since the last time."""
        if not self._folder.exists():
            return Page([])
        rows = self._rows(_parse_cursor(cursor) if cursor else LAST_PLACE, limit + 1)
        current = {row: self._refresh(row) for row in rows[:limit]}
        self._put_rows([new for old, new in current.items() if new is not None and new != old])
        summaries = [
            SessionSummary(row.name, row.title, row.changed_at, row.messages)
            for row in current.values()
            if row
        ]
        return Page(summaries, _to_cursor(rows[limit - 1]) if len(rows) > limit else None)

    @on_thread
    def delete(self, session: str) -> bool:
        """Delete a session. Return False if there is none."""
        return self._delete(session)

    @on_thread
    def reap(self, before: float, keep: str | None = None) -> int:
        """Delete sessions last changed before `before`, except `keep`. Return how many were deleted."""
        old = [row.name for row in self._files().values() if row.changed_at < before]
        return sum(self._delete(name) for name in old if name != keep)

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def _delete(self, session: str) -> bool:
        file, before = self._file(session), self._stamp()
        try:
            file.unlink()
        except FileNotFoundError:
            return False
        self._update_index(None, [session], before)
        return True

    def _file(self, session: str) -> Path:
        return self._folder / f"{check_session_name(session)}{SUFFIX}"

    def _stamp(self) -> str:
        """Return the state of the directory, which changes when a file is added or removed."""
        return str(fingerprint(str(self._folder)))

    def _sync(self) -> None:
        """Index sessions that were added or removed without the index, such as by copying files."""
        make_private_dir((self._folder / INDEX).parent)  # first, because it changes the directory
        stamp = self._stamp()
        if self._index.stamp() != stamp:
            self._index.sync(self._files(), stamp)

    def _rows(self, before: tuple[float, str], limit: int) -> list[SessionRow]:
        """Return rows from the index, or without titles from the directory if the index cannot be written."""
        try:
            self._sync()
            return self._index.page(before, limit)
        except (OSError, sqlite3.OperationalError) as error:
            log.warning("cannot use the index of sessions: %s", error)
            rows = sorted(self._files().values(), key=lambda row: row.place, reverse=True)
            return [row for row in rows if row.place < before][:limit]

    def _put_rows(self, rows: Sequence[SessionRow]) -> None:
        try:
            if rows:
                self._index.put(rows)
        except (OSError, sqlite3.OperationalError) as error:
            log.warning("cannot update the index of sessions: %s", error)

    def _update_index(self, row: SessionRow | None, gone: Sequence[str], before: str) -> None:
        try:
            make_private_dir((self._folder / INDEX).parent)
            self._index.change(row, gone, before, self._stamp())
        except (
            OSError,
            sqlite3.Error,
        ) as error:  # the records are stored, and the next listing repairs the row
            log.warning("cannot update the index of sessions: %s", error)

    def _files(self) -> dict[str, SessionRow]:
        """Return a row for every session file, without its title. Other files are ignored."""
        try:
            with os.scandir(self._folder) as entries:
                rows = [row for entry in entries if (row := _session_file(entry)) is not None]
        except FileNotFoundError:
            return {}
        return {row.name: row for row in rows}

    def _refresh(self, row: SessionRow) -> SessionRow | None:
        """Return a row that is up to date with its file, or None if there is no file."""
        file = self._file(row.name)
        try:
            status = file.stat()
        except FileNotFoundError:
            return None
        if (status.st_mtime, status.st_size) == (row.changed_at, row.size):
            return row
        transcript = replay(self._records(file))
        return SessionRow(
            row.name, status.st_mtime, status.st_size, transcript.title, len(transcript.messages)
        )

    def _records(self, file: Path) -> Iterator[Record]:
        try:
            with file.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if (record := _parse_record(line)) is not None:
                        yield record
                    elif line.endswith(b"\n"):
                        log.warning("skipped invalid session record at %s:%d", file, number)
        except FileNotFoundError:
            return


def _to_cursor(row: SessionRow) -> str:
    return f"{row.changed_at!r}|{row.name}"


def _parse_cursor(cursor: str) -> tuple[float, str]:
    """Read the output of `_to_cursor`. Another text raises ValueError."""
    changed_at, name = cursor.split("|")
    return float(changed_at), name


def _session_file(entry: "os.DirEntry[str]") -> SessionRow | None:
    name = entry.name.removesuffix(SUFFIX)
    if name == entry.name or not SESSION_NAME.fullmatch(name):
        return None
    try:
        return SessionRow(name, entry.stat().st_mtime, UNREAD)
    except OSError:  # removed by another process, or a dangling link
        return None


def _parse_record(line: bytes) -> Record | None:
    try:
        record = orjson.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
