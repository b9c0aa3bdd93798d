"""SQLite files that only the user can read."""

import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from .atomic import write_new
from .corrupt_files import move_corrupt_file

log = logging.getLogger(__name__)
T = TypeVar("T")


def connect_private(file: Path, timeout_s: float, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """Open a SQLite file. SQLite gives its log files the permissions of the file.

    A missing file is created under another name first: closing a descriptor of an open database would release
    the locks of its connections in this process.
    """
    if not file.exists():
        write_new(file, b"")
    return sqlite3.connect(file, timeout=timeout_s, check_same_thread=check_same_thread)


class SqliteFile:
    """A SQLite file with fixed tables. A corrupt file is renamed, and a new one is created."""

    def __init__(self, file: Path, tables: str, timeout_s: float) -> None:
        """Store the settings. `tables`: statements that create what is missing."""
        self._file, self._tables, self._timeout_s = file, tables, timeout_s

    def run(self, use: Callable[[sqlite3.Connection], T]) -> T:
        """Call a function with a connection, in one transaction."""
        try:
            return self._open(use)
        except sqlite3.OperationalError:  # locked, or the disk is full: the file is intact
            raise
        except sqlite3.DatabaseError as error:
            log.error("moved corrupt file %s to %s: %s", self._file, move_corrupt_file(self._file), error)
            return self._open(use)

    def _open(self, use: Callable[[sqlite3.Connection], T]) -> T:
        with closing(connect_private(self._file, self._timeout_s)) as connection:
            connection.execute("pragma journal_mode = wal")
            for statement in self._tables.split(";"):
                connection.execute(statement)
            with connection:
                return use(connection)
