"""Sessions in files, one JSON Lines file per session."""

import logging
import os
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

log = logging.getLogger(__name__)
SUFFIX = ".jsonl"


class FileSessions:
    """Stores the records of a session in `name.jsonl`. Skips lines that are incomplete or not records."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def append(self, session: str, records: Sequence[Record]) -> None:
        """Append records to a session. Durable on return."""
        lines = b"".join(map(to_line, records))
        append_lines(self._file(session), lines, is_torn=lambda last: _parse_record(last) is None)

    def read(self, session: str) -> Sequence[Record]:
        """Return all records of a session."""
        return list(self._records(self._file(session)))

    def page(self, cursor: str | None, limit: int) -> Page[SessionSummary]:
        """Return sessions, most recently changed first."""
        files = sorted(self._files(), reverse=True)
        start = int(cursor or 0)
        summaries = [self._summary(Path(path), at) for at, path in files[start : start + limit]]
        return Page(summaries, str(start + limit) if start + limit < len(files) else None)

    def delete(self, session: str) -> bool:
        """Delete a session. Return False if there is none."""
        try:
            self._file(session).unlink()
        except FileNotFoundError:
            return False
        return True

    def reap(self, before: float, keep: str | None = None) -> int:
        """Delete sessions last changed before `before`, except `keep`. Return how many were deleted."""
        old = [_name(path) for at, path in self._files() if at < before]
        return sum(self.delete(name) for name in old if name != keep)

    def _file(self, session: str) -> Path:
        return self._folder / f"{check_session_name(session)}{SUFFIX}"

    def _files(self) -> list[tuple[float, str]]:
        """Return modification time and path of every session file. Other files are ignored."""
        try:
            with os.scandir(self._folder) as entries:
                return [file for entry in entries if (file := _session_file(entry)) is not None]
        except FileNotFoundError:
            return []

    def _summary(self, file: Path, at: float) -> SessionSummary:
        transcript = replay(self._records(file))
        return SessionSummary(_name(str(file)), transcript.title, at, len(transcript.messages))

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


def _name(path: str) -> str:
    return Path(path).name.removesuffix(SUFFIX)


def _session_file(entry: "os.DirEntry[str]") -> tuple[float, str] | None:
    if not entry.name.endswith(SUFFIX) or not SESSION_NAME.fullmatch(_name(entry.name)):
        return None
    try:
        return entry.stat().st_mtime, entry.path
    except OSError:  # removed by another process, or a dangling link
        return None


def _parse_record(line: bytes) -> Record | None:
    try:
        record = orjson.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
