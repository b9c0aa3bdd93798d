"""Conversations as files of JSON lines, one file each."""

import logging
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from onetool.domain.paging import Page
from onetool.domain.transcript import NAME, Head, Record, add_up, check_name, to_line
from onetool.files.append import append_lines

log = logging.getLogger(__name__)
SUFFIX = ".jsonl"


class FlatFileSessions:
    """`name.jsonl` holds what was said; a line that is torn or is no record is passed over."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def append(self, session: str, records: Sequence[Record]) -> None:
        """Add records; on return they are on the disk."""
        lines = b"".join(map(to_line, records))
        append_lines(self._file(session), lines, is_torn=lambda last: _record(last) is None)

    def read(self, session: str) -> Sequence[Record]:
        """Return all records of a session."""
        return list(self._records(self._file(session)))

    def page(self, cursor: str | None, limit: int) -> Page[Head]:
        """Return sessions, the one that was last added to first."""
        files = sorted(self._files(), reverse=True)
        start = int(cursor or 0)
        heads = [self._head(Path(path), at) for at, path in files[start : start + limit]]
        return Page(heads, str(start + limit) if start + limit < len(files) else None)

    def delete(self, session: str) -> bool:
        """Remove a session's file."""
        try:
            self._file(session).unlink()
        except FileNotFoundError:
            return False
        return True

    def reap(self, before: float, but: str | None = None) -> int:
        """Remove files that nothing was added to since this moment, but one."""
        old = [_name(path) for at, path in self._files() if at < before]
        return sum(self.delete(name) for name in old if name != but)

    def _file(self, session: str) -> Path:
        return self._folder / f"{check_name(session)}{SUFFIX}"

    def _files(self) -> list[tuple[float, str]]:
        """The sessions' files, each with the time of its last line; what else lies there is not touched."""
        try:
            with os.scandir(self._folder) as entries:
                return [found for entry in entries if (found := _session(entry)) is not None]
        except FileNotFoundError:
            return []

    def _head(self, file: Path, at: float) -> Head:
        found = add_up(self._records(file))
        return Head(_name(str(file)), found.title, at, len(found.messages))

    def _records(self, file: Path) -> Iterator[Record]:
        try:
            with file.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    if (record := _record(line)) is not None:
                        yield record
                    elif line.endswith(b"\n"):
                        log.warning("%s:%d is no record and is passed over", file, number)
        except FileNotFoundError:
            return


def _name(path: str) -> str:
    return Path(path).name.removesuffix(SUFFIX)


def _session(entry: "os.DirEntry[str]") -> tuple[float, str] | None:
    if not entry.name.endswith(SUFFIX) or not NAME.fullmatch(_name(entry.name)):
        return None
    try:
        return entry.stat().st_mtime, entry.path
    except OSError:  # removed by another process, or a link to nowhere
        return None


def _record(line: bytes) -> Record | None:
    try:
        found = orjson.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
