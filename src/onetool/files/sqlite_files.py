"""SQLite files that only the user can read."""

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from .atomic import write_new
from .corrupt_files import move_corrupt_file
from .writable import check_writable

log = logging.getLogger(__name__)
T = TypeVar("T")
LOG_FILES = ("-wal", "-shm")


def connect_private(file: Path, timeout_s: float, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """Open a SQLite file. SQLite gives its log files the permissions of the file.

    A missing file is created under another name first: closing a descriptor of an open database would release
    the locks of its connections in this process. A new file has a write-ahead log from the start: processes
    that switch it on at the same time do not wait for each other, but fail with `database is locked`.
    """
    if not file.exists():
        write_new(file, _empty_database())
    return sqlite3.connect(file, timeout=timeout_s, check_same_thread=check_same_thread)


def _empty_database() -> bytes:
    """Return the content of a database without tables that uses a write-ahead log."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("pragma user_version = 0")  # writes the header
        content = bytearray(connection.serialize())
    content[18:20] = (2, 2)  # the versions of the format for writing and reading: 2 is with the log
    return bytes(content)


@contextmanager
def open_frozen(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a SQLite file that cannot be written. SQLite itself would create files beside it.

    Raises:
        sqlite3.OperationalError: The file cannot be read, or its log has changes that it lacks.
    """
    log_file = Path(f"{file}-wal")
    if log_file.exists() and log_file.stat().st_size:
        raise sqlite3.OperationalError(f"{file} cannot be written, and its last changes cannot be read")
    try:
        uri = f"{file.absolute().as_uri()}?immutable=1"
        with naming_database(file), closing(sqlite3.connect(uri, uri=True)) as connection:
            yield connection
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:  # another process changes the file meanwhile, or it is corrupt
        raise sqlite3.OperationalError(f"{file}: {error}") from error


@contextmanager
def naming_database(file: Path) -> Iterator[None]:
    """Add the path of a SQLite file to errors such as `disk I/O error`, and the reason if it has one."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if str(file) in str(error):
            raise
        reason = check_writable(file.parent) or error
        raise sqlite3.OperationalError(f"{file}: {reason}") from error


class SqliteFile:
    """A SQLite file with fixed tables. A corrupt file is renamed, and a new one is created."""

    def __init__(self, file: Path, tables: str, timeout_s: float) -> None:
        """Store the settings. `tables`: statements that create what is missing."""
        self._file, self._tables, self._timeout_s = file, tables, timeout_s

    def run(self, use: Callable[[sqlite3.Connection], T]) -> T:
        """Call a function with a connection, in one transaction."""
        with naming_database(self._file):
            return self._run(use)

    def read(self, use: Callable[[sqlite3.Connection], T]) -> T:
        """Call a function that only reads. Works also if the file cannot be written."""
        try:
            return self.run(use)
        except (OSError, sqlite3.OperationalError) as error:
            log.warning("reading a file that cannot be written: %s", error)
            with open_frozen(self._file) as connection:
                return use(connection)

    def _run(self, use: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._open(use)
        except sqlite3.OperationalError:  # locked, or the disk is full: the file is intact
            raise
        except sqlite3.DatabaseError as error:
            self.close()
            log.error("moved corrupt file %s to %s: %s", self._file, move_corrupt_file(self._file), error)
            for suffix in LOG_FILES:  # SQLite would apply their changes to the new file
                Path(f"{self._file}{suffix}").unlink(missing_ok=True)
            return self._open(use)

    def close(self) -> None:
        """Do nothing: no connection stays open."""

    def _open(self, use: Callable[[sqlite3.Connection], T]) -> T:
        with closing(self._connect()) as connection, connection:
            return use(connection)

    def _connect(self) -> sqlite3.Connection:
        connection = connect_private(self._file, self._timeout_s, check_same_thread=False)
        try:
            connection.execute("pragma journal_mode = wal")
            for statement in self._tables.split(";"):
                connection.execute(statement)
        except BaseException:
            connection.close()
            raise
        return connection


class OpenSqliteFile(SqliteFile):
    """A SQLite file whose connection stays open between transactions, for frequent writes.

    Thread-safe: one transaction runs at a time. The last transactions may be lost if the machine loses power,
    but not if a process is killed.
    """

    def __init__(self, file: Path, tables: str, timeout_s: float) -> None:
        super().__init__(file, tables, timeout_s)
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0

    def close(self) -> None:
        """Close the connection. The next transaction opens a new one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self, use: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            if self._connection is not None and self._inode != self._current_inode():
                self.close()  # another process has moved the file, or the user has deleted it
            if self._connection is None:
                self._connection = self._connect()
                self._connection.execute("pragma synchronous = normal")
                self._inode = self._current_inode()
            with self._connection:
                return use(self._connection)

    def _current_inode(self) -> int:
        try:
            return self._file.stat().st_ino
        except FileNotFoundError:
            return 0
