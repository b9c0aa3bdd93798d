"""The SQLite index of sessions: a page of sessions reads only the files that changed since the last time."""

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from onetool.files.sqlite_files import SqliteFile

TIMEOUT_S = 5.0
"""How long a writer waits for another process."""
TABLES = """
create table if not exists sessions (
    name text primary key, changed_at real not null, size integer not null,
    title text not null, messages integer not null
) without rowid;
create index if not exists sessions_changed_at on sessions (changed_at, name);
create table if not exists directory (stamp text not null)
"""
PUT = "insert or replace into sessions values (?, ?, ?, ?, ?)"
PAGE = "select * from sessions where (changed_at, name) < (?, ?) order by changed_at desc, name desc limit ?"
UNREAD = -1


class SessionRow(NamedTuple):
    """A session as it was when it was last read."""

    name: str
    changed_at: float
    size: int
    """Size of its file; UNREAD if the title and the messages are not known."""
    title: str = ""
    messages: int = 0

    @property
    def place(self) -> tuple[float, str]:
        """The place in the listing, which is ordered from the last place to the first."""
        return self.changed_at, self.name


class SessionIndex:
    """Rows of sessions. They are derived from the files, so the index can be deleted at any time."""

    def __init__(self, file: Path) -> None:
        self._sqlite = SqliteFile(file, TABLES, TIMEOUT_S)

    def page(self, before: tuple[float, str], limit: int) -> list[SessionRow]:
        """Return up to `limit` sessions before a place, most recently changed first."""
        rows = self._sqlite.run(lambda connection: connection.execute(PAGE, (*before, limit)).fetchall())
        return [SessionRow(*row) for row in rows]

    def put(self, rows: Iterable[SessionRow]) -> None:
        """Store what was read."""
        self._sqlite.run(lambda connection: connection.executemany(PUT, rows))

    def stamp(self) -> str:
        """Return the state of the directory that the rows reflect; empty if there is none."""
        row = self._sqlite.run(lambda connection: connection.execute("select * from directory").fetchone())
        return str(row[0]) if row else ""

    def change(self, row: SessionRow | None, gone: Collection[str], before: str, after: str) -> None:
        """Record one change of the directory, by the caller.

        before, after: the state of the directory. If the rows do not reflect `before`, another process has
        changed the directory too, and the next listing scans it.
        """

        def write(connection: sqlite3.Connection) -> None:
            if row is not None:
                connection.execute(PUT, row)
            connection.executemany("delete from sessions where name = ?", [(name,) for name in gone])
            connection.execute("update directory set stamp = ? where stamp = ?", (after, before))

        self._sqlite.run(write)

    def sync(self, files: Mapping[str, SessionRow], stamp: str) -> None:
        """Bring the rows up to date with the files of the directory."""

        def write(connection: sqlite3.Connection) -> None:
            known = dict(connection.execute("select name, changed_at from sessions"))
            changed = [row for name, row in files.items() if known.get(name) != row.changed_at]
            connection.executemany(PUT, changed)
            gone = [(name,) for name in known.keys() - files.keys()]
            connection.executemany("delete from sessions where name = ?", gone)
            connection.execute("delete from directory")
            connection.execute("insert into directory values (?)", (stamp,))

        self._sqlite.run(write)
